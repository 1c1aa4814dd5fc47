package breakerwatch

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/clock"
	"github.com/stretchr/testify/require"
)

// TestReadingWritesNothingThatACallReads compares every word that can be
// reached from a breaker before and after readings, in each state. Snapshot
// may write where it keeps the highest totals shown, and that has to lie on
// cache lines of its own.
func TestReadingWritesNothingThatACallReads(t *testing.T) {
	var w Watch
	manual := new(clock.Manual)
	c := config("b")
	c.Clock = manual
	b := atomicbreaker.MustNew(w.Config(c))
	require.NoError(t, w.Add(b))
	step := map[string]func(){
		"1 fresh":       func() {},
		"2 closed":      func() { call(t, b, 0, atomicbreaker.Success) },
		"3 open":        func() { call(t, b, 0, atomicbreaker.Failure); refusal(t, b) },
		"4 half-open":   func() { manual.Advance(cooldown) },
		"5 probing":     func() { _, err := b.Acquire(); require.NoError(t, err); refusal(t, b) },
		"6 forced open": func() { b.SetMode(atomicbreaker.ForcedOpen); refusal(t, b) },
		"7 shadow":      func() { b.SetMode(atomicbreaker.Shadow); call(t, b, 0, atomicbreaker.Success) },
	}
	wrote := map[string]bool{}
	for i := range len(step) {
		for name, f := range step {
			if !strings.HasPrefix(name, fmt.Sprint(i+1)) {
				continue
			}
			f()
			manual.Advance(0) // lets timers that are due fire
			before := contents(b)
			for range 100 {
				w.Read(nil)
			}
			for where, was := range contents(b) {
				if was != before[where] {
					wrote[where] = true
					require.Contains(t, where, ".seen.", "in step %s a reading changed it from %v to %v", name, before[where], was)
				}
			}
		}
	}
	require.NotEmpty(t, wrote, "the comparison sees no change at all")

	const line = 64
	typ := reflect.TypeFor[atomicbreaker.Breaker]()
	seen, _ := typ.FieldByName("seen")
	for _, name := range []string{"word", "timed", "sampler", "ring", "last", "madeAt", "refused", "settings", "evidence", "streak"} {
		f, ok := typ.FieldByName(name)
		require.True(t, ok, "Breaker has no field %s any more", name)
		start := f.Offset
		if len(f.Index) > 1 { // of an embedded struct
			start += typ.Field(f.Index[0]).Offset
		}
		end := start + f.Type.Size()
		require.True(t, end+line <= seen.Offset || start >= seen.Offset+seen.Type.Size()+line,
			"%s at %d to %d shares a cache line with what a reading writes at %d", name, start, end, seen.Offset)
	}
}

// contents returns every word reachable from b by the path to it.
func contents(b *atomicbreaker.Breaker) map[string]string {
	c := walk{at: map[string]string{}, visited: map[unsafe.Pointer]bool{}}
	c.value("b", reflect.ValueOf(b))
	return c.at
}

type walk struct {
	at      map[string]string
	visited map[unsafe.Pointer]bool
}

func (c *walk) value(path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || c.visited[v.UnsafePointer()] {
			c.at[path] = fmt.Sprint(v.UnsafePointer())
			return
		}
		c.visited[v.UnsafePointer()] = true
		c.value(path, v.Elem())
	case reflect.Struct:
		if p := atomicPointer(v); p.IsValid() {
			c.value(path+".*", p)
			return
		}
		for i := range v.NumField() {
			c.value(path+"."+v.Type().Field(i).Name, v.Field(i))
		}
	case reflect.Array, reflect.Slice:
		c.at[path+".len"] = fmt.Sprint(v.Len())
		for i := range v.Len() {
			c.value(fmt.Sprint(path, "[", i, "]"), v.Index(i))
		}
	case reflect.Map:
		c.at[path] = fmt.Sprint(v.Len())
	case reflect.Interface:
		if !v.IsNil() {
			c.value(path, v.Elem())
		}
	case reflect.Func, reflect.UnsafePointer, reflect.Chan:
	default:
		c.at[path] = fmt.Sprint(v)
	}
}

// atomicPointer returns the pointer in an atomic.Pointer[T], which is a
// [0]*T, a noCopy and an untyped pointer.
func atomicPointer(v reflect.Value) reflect.Value {
	if !strings.HasPrefix(v.Type().String(), "atomic.Pointer[") {
		return reflect.Value{}
	}
	target := v.Type().Field(0).Type.Elem().Elem()
	p := v.Field(v.NumField() - 1).UnsafePointer()
	return reflect.NewAt(target, p)
}
