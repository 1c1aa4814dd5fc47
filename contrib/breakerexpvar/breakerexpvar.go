package breakerexpvar

import (
	"errors"
	"expvar"
	"fmt"
	"sync"

	"github.com/atomicbreaker/breaker/contrib/breakerwatch"
)

var publishing sync.Mutex

// Publish publishes the breakers of watch under name, read whenever they are
// asked for. It returns an error if something is published under that name,
// which the expvar package cannot undo.
func Publish(name string, watch *breakerwatch.Watch) error {
	if watch == nil {
		return errors.New("breakerexpvar: cannot publish a nil Watch")
	}
	publishing.Lock()
	defer publishing.Unlock()
	if expvar.Get(name) != nil {
		return fmt.Errorf("breakerexpvar: something is published as %q already; choose another name", name)
	}
	expvar.Publish(name, Var(watch))
	return nil
}

// Var returns the variable that [Publish] publishes, to be put into an
// expvar.Map or served in another way.
func Var(watch *breakerwatch.Watch) expvar.Var {
	return expvar.Func(func() any {
		breakers := map[string]breakerwatch.Reading{}
		for _, r := range watch.Read(nil) {
			breakers[r.Name] = r
		}
		return breakers
	})
}
