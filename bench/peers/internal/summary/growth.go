package summary

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// growths are the benchmarks of package bench that measure a call against how
// much there is of something, each with what its figures mean.
var growths = []struct {
	base, key, of string
	why           []string
}{
	{"Buckets", "buckets", "buckets of the rolling window", []string{
		"Flat: a call writes one cell of the present bucket. A failure sums all buckets of its own stripe, but only when, by the",
		"sum before, so many calls have come since that rate and minimum may have been reached.",
	}},
	{"Stripes", "stripes", "stripes that the breaker may use", []string{
		"Flat, but for one stripe where two processors contend for it. Stripes are added on contention alone, so that a higher limit",
		"costs one goroutine nothing; with more than one in use a call hashes the page of its stack, 2 to 3 ns.",
	}},
	{"Breakers", "breakers", "breakers called in turn", []string{
		"Not flat, because of the machine: the instructions are the same, but a call touches three to five lines of its breaker, and those of",
		"1,000 breakers (1.2 MB) leave the first-level cache, those of 100,000 (120 MB) every cache. Two processors also take the lines",
		"that they write from each other where both call the same few breakers in turn.",
	}},
	{"Failures", "failures", "per cent of failing calls, none of which trips", []string{
		"Not flat, because a failure does more: besides its cell it writes the streak (or, with several stripes, its stripe's mark), which the",
		"next success takes back, and it goes through the rules. Every second call failing is the dearest mixture: each call then undoes the last.",
	}},
}

// WriteGrowth writes what a call costs against how much there is.
func (s *Set) WriteGrowth(w io.Writer) error {
	for _, g := range growths {
		sizes, lines := s.growthOf(g.base, g.key)
		if len(lines) == 0 {
			continue
		}
		t := table{
			title: fmt.Sprintf("Growth: ns per call against the number of %s", g.of),
			head:  append(append([]string{"path"}, sizes...), "last/first"),
		}
		if g.key == "failures" {
			t.title = "Growth: ns per call against the " + g.of
		}
		for _, l := range lines {
			s.growthLine(&t, g.key, l, sizes)
		}
		for _, why := range g.why {
			t.note("%s", why)
		}
		if err := t.write(w); err != nil {
			return err
		}
	}
	return nil
}

// growthLine names the benchmarks of one line: the size is to be filled in.
type growthLine struct{ name, proc string }

// at is the benchmark's name for a size.
func (l growthLine) at(key, size string) string {
	return strings.Replace(l.name, "/"+key+"=*", "/"+key+"="+size, 1)
}

// growthOf returns the sizes and the lines that a benchmark has results for.
func (s *Set) growthOf(base, key string) (sizes []string, lines []growthLine) {
	for _, k := range s.order {
		b, keys := parts(k.name)
		size := keys[key]
		if b != base || k.unit != perOp || size == "" {
			continue
		}
		if !slices.Contains(sizes, size) {
			sizes = append(sizes, size)
		}
		l := growthLine{strings.Replace(k.name, "/"+key+"="+size, "/"+key+"=*", 1), k.proc}
		if !slices.Contains(lines, l) {
			lines = append(lines, l)
		}
	}
	return sizes, lines
}

func (s *Set) growthLine(t *table, key string, l growthLine, sizes []string) {
	var cells []string
	var medians []float64
	for _, size := range sizes {
		m, ok := s.sample(l.at(key, size), l.proc, perOp)
		if !ok {
			cells = append(cells, "-")
			continue
		}
		cells, medians = append(cells, m.text(perOp)), append(medians, m.Median())
	}
	ratio := "-"
	if len(medians) > 1 && medians[0] > 0 {
		ratio = digits(medians[len(medians)-1] / medians[0])
	}
	_, keys := parts(l.name)
	label := keys["path"]
	if f := keys["failures"]; f != "" && key != "failures" && f != "0" {
		label += ", " + f + " % failing"
	}
	t.add(fmt.Sprintf("%s, %sP x%s", label, l.proc, keys["load"]), append(cells, ratio)...)
}

// WriteLayout writes what it costs to lay the stripes side by side.
func (s *Set) WriteLayout(w io.Writer) error {
	_, lines := s.growthOf("Layout", "layout")
	t := table{
		title: "False sharing: ns per call where each goroutine writes a stripe of its own",
		head:  []string{"path", "padded", "packed", "packed/padded", ""},
	}
	for _, l := range lines {
		padded, ok := s.sample(l.at("layout", "padded"), l.proc, perOp)
		packed, okPacked := s.sample(l.at("layout", "packed"), l.proc, perOp)
		if !ok || !okPacked || padded.Median() == 0 {
			continue
		}
		sure := "within noise"
		if packed.Differs(padded) {
			sure = "p < 0.05"
		}
		_, keys := parts(l.name)
		t.add(fmt.Sprintf("%s, %sP x%s", keys["path"], l.proc, keys["load"]),
			padded.text(perOp), packed.text(perOp), digits(packed.Median()/padded.Median()), sure)
	}
	if len(t.rows) == 0 {
		return nil
	}
	t.note("The ring's own code on stripes laid out by hand: as the ring lays them, or with the words that are written side by side. One")
	t.note("processor has no sharing to pay for: there both should cost the same.")
	return t.write(w)
}
