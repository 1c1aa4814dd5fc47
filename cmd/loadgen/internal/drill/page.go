package drill

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"time"

	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/frame"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("drill").Parse(pageText))

// page is what the template shows.
type page struct {
	Plan      string
	Command   string
	Started   string
	Machine   *frame.Machine
	Passed    bool
	Picture   template.HTML
	Sentences []string
	Events    []pageEvent
	Checks    []pageCheck
}

type pageEvent struct {
	At, What string
	Mark     int // its number in the picture
}

type pageCheck struct {
	Name, Value, Unit, Limit, Verdict string
}

// writePage writes the drill as one file that needs nothing else.
func (x *exercise) writePage(name string, r *frame.Report, f facts) error {
	p := page{
		Plan: x.plan.String(), Command: r.Command, Started: r.Started, Machine: r.Machine,
		Passed: r.Passed(), Sentences: x.sentences(f), Events: x.pageEvents(),
	}
	for _, c := range r.Checks {
		line := pageCheck{Name: c.Name, Value: frame.Number(c.Value), Unit: c.Unit}
		if c.Limit != nil {
			line.Limit, line.Verdict = "at most "+frame.Number(*c.Limit), "pass"
			if !c.Pass {
				line.Verdict = "FAIL"
			}
		}
		p.Checks = append(p.Checks, line)
	}
	picture := x.picture(p.Events)
	p.Picture = template.HTML(picture.draw()) // numbers and words of our own only
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, p); err != nil {
		return err
	}
	return os.WriteFile(name, out.Bytes(), 0o644)
}

func (x *exercise) sentences(f facts) []string {
	lines := []string{fmt.Sprintf("Of %s calls %s were answered, %s failed and %s were refused without a try.", frame.Thousands(int64(f.Total.Sent)),
		frame.Thousands(int64(f.Total.OK)), frame.Thousands(int64(f.Total.Failed)), frame.Thousands(int64(f.Total.Refused)))}
	if opened := x.turn(x.broken, opens); x.server != nil && opened != nil {
		lines = append(lines, fmt.Sprintf("The breaker opened %.2f s after the fault, when %s calls had failed, and %s more failed until it closed.",
			(opened.At-x.broken).Seconds(), frame.Thousands(int64(opened.transition.Counts.Failures)),
			frame.Thousands(int64(f.Total.Failed)-int64(opened.transition.Counts.Failures))))
	}
	if closed := x.turn(x.mended, closes); x.server != nil && closed != nil {
		lines = append(lines, fmt.Sprintf("It closed %.2f s after the mend, having seen %s probes.", (closed.At-x.mended).Seconds(), frame.Thousands(int64(closed.transition.Counts.Calls))))
	}
	if f.Total.Refused > 0 {
		lines = append(lines, fmt.Sprintf("A refusal took %s (median), through the whole HTTP transport.", frame.Nanos(f.RefusalNS["p50"])))
	}
	return lines
}

// pageEvents are the events that are told, numbered.
func (x *exercise) pageEvents() []pageEvent {
	x.story.mu.Lock()
	defer x.story.mu.Unlock()
	var list []pageEvent
	for _, e := range x.story.events {
		if e.What == "" {
			continue
		}
		list = append(list, pageEvent{At: fmt.Sprintf("%.2f s", e.At.Seconds()), What: e.What, Mark: len(list) + 1})
	}
	return list
}

// picture gathers what is drawn.
func (x *exercise) picture(told []pageEvent) *picture {
	x.story.mu.Lock()
	defer x.story.mu.Unlock()
	p := &picture{total: x.plan.total(), rate: x.plan.Rate, moments: x.film.all(), broken: x.broken, mended: x.mended}
	for _, f := range p.moments {
		p.total = max(p.total, f.End)
	}
	from, state := time.Duration(0), "closed"
	for _, e := range x.story.events {
		if e.What != "" {
			p.marks = append(p.marks, e.At)
		}
		if e.transition == nil {
			continue
		}
		p.stays = append(p.stays, stay{from, e.At, state})
		from, state = e.At, e.transition.To.String()
	}
	p.stays = append(p.stays, stay{from, p.total, state})
	return p
}
