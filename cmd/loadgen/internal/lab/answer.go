package lab

import (
	"encoding/json"
	"fmt"
)

// Answer answers one question of the page in JSON: "describe" a query, or "run" one
// lane of it.
func Answer(op, query, lane string) ([]byte, error) {
	switch op {
	case "describe":
		return json.Marshal(Describe(query))
	case "run":
		s, err := Parse(query)
		if err != nil {
			return nil, err
		}
		r, err := Play(s, lane)
		if err != nil {
			return nil, err
		}
		return json.Marshal(r)
	}
	return nil, fmt.Errorf("the page asks for %q, want describe or run", op)
}
