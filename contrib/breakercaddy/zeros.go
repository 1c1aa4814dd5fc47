package breakercaddy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// UnmarshalJSON reads the configuration and refuses zeros and names that it
// does not know.
func (t *Transport) UnmarshalJSON(text []byte) error {
	type plain Transport
	return strictly(text, (*plain)(t), "protocol")
}

// UnmarshalJSON reads the configuration and refuses zeros and names that it
// does not know.
func (c *CircuitBreaker) UnmarshalJSON(text []byte) error {
	type plain CircuitBreaker
	return strictly(text, (*plain)(c), "type")
}

// strictly decodes an object. A setting that is zero would have its default,
// though somebody wrote that it should be nothing.
func strictly(text []byte, into any, module string) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		var number float64
		switch value := bytes.TrimSpace(fields[name]); {
		case json.Unmarshal(value, &number) == nil && number == 0 && string(value) != "null", string(value) == `"0"`, string(value) == `"0s"`:
			faults = append(faults, fmt.Errorf("breakercaddy: %s is 0: a zero says nothing; leave it out for the default, or write -1 to switch it off where it can be", name))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	delete(fields, module)
	rest, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(rest))
	d.DisallowUnknownFields()
	return d.Decode(into)
}
