package atomicbreaker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// A jsonField is one field of a Config as JSON names it. In to it has a pointer
// to the field, or the fields of an object.
type jsonField struct {
	key string
	to  any
}

// jsonFields are the fields of c that are data, in the order of the Config.
func (c *Config) jsonFields() []jsonField {
	return []jsonField{
		{"name", &c.Name},
		{"window", (*jsonDuration)(&c.Window)},
		{"buckets", (*jsonCount)(&c.Buckets)},
		{"window_calls", (*jsonCount)(&c.WindowCalls)},
		{"minimum_calls", (*jsonCount)(&c.MinimumCalls)},
		{"failure_rate", (*jsonShare)(&c.FailureRate)},
		{"consecutive_failures", (*jsonCount)(&c.ConsecutiveFailures)},
		{"slow_call_duration", (*jsonDuration)(&c.SlowCallDuration)},
		{"slow_call_rate", (*jsonShare)(&c.SlowCallRate)},
		{"deadline", (*jsonDuration)(&c.Deadline)},
		{"patience", (*jsonDuration)(&c.Patience)},
		{"cooldown", []jsonField{
			{"min", (*jsonDuration)(&c.Cooldown.Min)},
			{"max", (*jsonDuration)(&c.Cooldown.Max)},
			{"factor", (*jsonShare)(&c.Cooldown.Factor)},
			{"jitter", (*jsonShare)(&c.Cooldown.Jitter)},
		}},
		{"recovery", []jsonField{
			{"probes", (*jsonCount)(&c.Recovery.Probes)},
			{"successes", (*jsonCount)(&c.Recovery.Successes)},
			{"concurrent", (*jsonCount)(&c.Recovery.Concurrent)},
			{"quiet", (*jsonDuration)(&c.Recovery.Quiet)},
			{"probe_timeout", (*jsonDuration)(&c.Recovery.ProbeTimeout)},
		}},
		{"stripes", (*jsonCount)(&c.Stripes)},
		{"mode", &c.Mode},
	}
}

// MarshalJSON writes the fields of c that are data: not its functions and not
// its Clock. Keys are as in {"failure_rate": 0.5, "cooldown": {"min": "500ms"}}. A
// duration is a string such as "500ms" or "1m30s", [Off] is "off", and fields
// that are zero are left out.
func (c Config) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	if err := writeFields(&out, c.jsonFields()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// UnmarshalJSON reads what MarshalJSON writes. A field that is not there keeps
// the value it has, and so do functions and Clock. It returns every fault,
// joined, and then changes nothing: keys that are not known, values of the wrong type,
// durations without a unit, unknown modes. Whether the values are in range is
// for [Config.Validate].
func (c *Config) UnmarshalJSON(text []byte) error {
	read := *c
	var faults []error
	readFields(text, "", read.jsonFields(), func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("atomicbreaker: Config as JSON: "+format, args...))
	})
	if len(faults) == 0 {
		*c = read
	}
	return errors.Join(faults...)
}

// writeFields writes an object of those fields that are not zero.
func writeFields(out *bytes.Buffer, fields []jsonField) error {
	out.WriteByte('{')
	first := true
	for _, f := range fields {
		within, nested := f.to.([]jsonField)
		if nested && allZero(within) || !nested && reflect.ValueOf(f.to).Elem().IsZero() {
			continue
		}
		if !first {
			out.WriteByte(',')
		}
		first = false
		fmt.Fprintf(out, "%q:", f.key)
		if nested {
			if err := writeFields(out, within); err != nil {
				return err
			}
			continue
		}
		text, err := json.Marshal(f.to)
		if err != nil {
			return fmt.Errorf("atomicbreaker: Config as JSON: %s: %w", f.key, err)
		}
		out.Write(text)
	}
	out.WriteByte('}')
	return nil
}

func allZero(fields []jsonField) bool {
	return !slices.ContainsFunc(fields, func(f jsonField) bool { return !reflect.ValueOf(f.to).Elem().IsZero() })
}

// readFields reads an object into fields, and adds what is wrong. path is
// where the object lies, with a dot after it.
func readFields(text []byte, path string, fields []jsonField, add func(string, ...any)) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		where := strings.TrimSuffix(path, ".")
		if where == "" {
			where = "it"
		}
		add("%s is %s, want an object", where, short(text))
		return
	}
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		i := slices.IndexFunc(fields, func(f jsonField) bool { return f.key == key })
		if i < 0 {
			var known []string
			for _, f := range fields {
				known = append(known, f.key)
			}
			add("unknown key %q, want one of %q", path+key, known)
			continue
		}
		raw := object[key]
		if within, nested := fields[i].to.([]jsonField); nested {
			readFields(raw, path+key+".", within, add)
		} else if err := readField(raw, fields[i].to); err != nil {
			add("%s is %s, %w", path+key, short(raw), err)
		}
	}
}

// readField reads one value. null is none: it must not look like a setting.
func readField(raw []byte, to any) error {
	if string(raw) == "null" {
		return errors.New("want a value, or leave the key out")
	}
	err := json.Unmarshal(raw, to)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("want a string")
	}
	return err
}

// short is a JSON value as an error shows it.
func short(raw []byte) string {
	if len(raw) > 40 {
		return strings.ToValidUTF8(string(raw[:40]), "") + "..."
	}
	return string(raw)
}

const offText = `"off"`

// A jsonDuration is a time.Duration in words.
type jsonDuration time.Duration

func (d jsonDuration) MarshalJSON() ([]byte, error) {
	if d == Off {
		return []byte(offText), nil
	}
	text := time.Duration(d).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return json.Marshal(text)
}

func (d *jsonDuration) UnmarshalJSON(raw []byte) error {
	if string(raw) == offText {
		*d = Off
		return nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if read, err := time.ParseDuration(text); err == nil {
			*d = jsonDuration(read)
			return nil
		}
	}
	return errors.New(`want a duration with its unit, such as "500ms" or "1m30s", or "off"`)
}

// A jsonShare is a number, or "off".
type jsonShare float64

func (s jsonShare) MarshalJSON() ([]byte, error) {
	if s == Off {
		return []byte(offText), nil
	}
	return json.Marshal(float64(s))
}

func (s *jsonShare) UnmarshalJSON(raw []byte) error {
	if string(raw) == offText {
		*s = Off
		return nil
	}
	var read float64
	if json.Unmarshal(raw, &read) != nil {
		return errors.New(`want a number, or "off"`)
	}
	*s = jsonShare(read)
	return nil
}

// A jsonCount is a whole number, or "off".
type jsonCount int

func (n jsonCount) MarshalJSON() ([]byte, error) {
	if n == Off {
		return []byte(offText), nil
	}
	return json.Marshal(int(n))
}

func (n *jsonCount) UnmarshalJSON(raw []byte) error {
	if string(raw) == offText {
		*n = Off
		return nil
	}
	var read int
	if json.Unmarshal(raw, &read) != nil {
		return errors.New(`want a whole number, or "off"`)
	}
	*n = jsonCount(read)
	return nil
}
