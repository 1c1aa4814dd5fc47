// Package labserve serves the lab's page.
package labserve

import (
	"bytes"
	"mime"
	"net/http"
	"path"

	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/lab"
)

// policy is what the page may do: nothing but its own files and questions.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'none'; frame-ancestors 'none'; base-uri 'none'"

// Handler serves the page, and answers what it asks. At most two questions are
// worked on at a time; others wait for as long as who asks.
func Handler() (http.Handler, error) {
	var index bytes.Buffer
	if err := writeIndex(&index, engineServer); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	file := func(name string, text []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
			w.Write(text)
		}
	}
	mux.HandleFunc("GET /{$}", file("index.html", index.Bytes()))
	for name, text := range files() {
		mux.HandleFunc("GET /"+name, file(name, text))
	}
	busy := make(chan struct{}, 2)
	answer := func(op string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			select {
			case busy <- struct{}{}:
				defer func() { <-busy }()
			case <-r.Context().Done():
				return
			}
			text, err := lab.Answer(op, r.URL.RawQuery, r.PathValue("lane"))
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.Write(text)
		}
	}
	mux.HandleFunc("GET /describe", answer("describe"))
	mux.HandleFunc("GET /run/{lane}", answer("run"))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "no-referrer")
		mux.ServeHTTP(w, r)
	}), nil
}
