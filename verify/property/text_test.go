package property

import (
	"encoding"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/atomicbreaker/breaker/atomicbreaker"
)

// text is a type whose text form is read back.
type text[T any] interface {
	*T
	encoding.TextUnmarshaler
}

// roundTrip checks all values of an enumeration and refuses all others.
func roundTrip[T interface {
	~uint8
	encoding.TextMarshaler
	String() string
}, P text[T]](t *testing.T, name string, values int) {
	for v := range 256 {
		raw, err := T(v).MarshalText()
		if known := v < values; known != (err == nil) {
			t.Errorf("%s %d: MarshalText says %v", name, v, err)
		}
		if T(v).String() == "" {
			t.Errorf("%s %d has no text", name, v)
		}
		if err != nil {
			continue
		}
		var back T
		if err := P(&back).UnmarshalText(raw); err != nil || back != T(v) {
			t.Errorf("%s %d is %q, which is read as %d, %v", name, v, raw, back, err)
		}
	}
	var back T
	if P(&back).UnmarshalText([]byte("no such thing")) == nil {
		t.Errorf("%s reads anything", name)
	}
}

func TestTextRoundTrips(t *testing.T) {
	roundTrip[atomicbreaker.State](t, "State", 3)
	roundTrip[atomicbreaker.Mode](t, "Mode", 4)
	roundTrip[atomicbreaker.Outcome](t, "Outcome", 4)
	roundTrip[atomicbreaker.Reason](t, "Reason", 14)
}

func TestSnapshotRoundTripsAsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s atomicbreaker.Snapshot
		fill(t, reflect.ValueOf(&s).Elem())
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var back atomicbreaker.Snapshot
		if err := json.Unmarshal(raw, &back); err != nil {
			t.Fatal(err)
		}
		if back != s {
			t.Fatalf("%+v came back as %+v from %s", s, back, raw)
		}
	})
}

// fill draws every field of a struct.
func fill(t *rapid.T, v reflect.Value) {
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Name
		switch f.Interface().(type) {
		case atomicbreaker.State:
			f.SetUint(rapid.Uint64Range(0, 2).Draw(t, name))
		case atomicbreaker.Mode:
			f.SetUint(rapid.Uint64Range(0, 3).Draw(t, name))
		case atomicbreaker.Outcome:
			f.SetUint(rapid.Uint64Range(0, 2).Draw(t, name))
		case atomicbreaker.Reason:
			f.SetUint(rapid.Uint64Range(0, 11).Draw(t, name))
		case time.Duration:
			f.SetInt(rapid.Int64().Draw(t, name))
		default:
			switch f.Kind() {
			case reflect.Struct:
				fill(t, f)
			case reflect.String:
				f.SetString(rapid.String().Draw(t, name))
			case reflect.Bool:
				f.SetBool(rapid.Bool().Draw(t, name))
			case reflect.Int:
				f.SetInt(rapid.Int64Range(0, 1<<31-1).Draw(t, name))
			case reflect.Uint32:
				f.SetUint(uint64(rapid.Uint32().Draw(t, name)))
			case reflect.Uint64:
				f.SetUint(rapid.Uint64().Draw(t, name))
			default:
				t.Fatalf("field %s of kind %v: say here how to draw it", name, f.Kind())
			}
		}
	}
}
