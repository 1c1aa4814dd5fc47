package frame

import "strconv"

// Number writes a figure with the digits that mean something.
func Number(v float64) string {
	switch {
	case v == float64(int64(v)):
		return Thousands(int64(v))
	case v >= 1000 || v <= -1000:
		return Thousands(int64(v + 0.5))
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// Thousands groups digits: 1234567 is 1,234,567.
func Thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Nanos writes a duration given in nanoseconds with three digits.
func Nanos(ns float64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}} {
		if v := ns / u.size; v < 999.5 {
			return strconv.FormatFloat(v, 'f', max(0, 2-len(strconv.Itoa(int(v)))), 64) + " " + u.name
		}
	}
	return strconv.FormatFloat(ns/1e9, 'f', 2, 64) + " s"
}
