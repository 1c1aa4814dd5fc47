package labserve

import (
	"embed"
	"html/template"
	"io"

	"github.com/atomicbreaker/breaker/cmd/loadgen/internal/lab"
)

// Who computes what the page shows.
const (
	engineServer = "server" // the server that the page is from
	engineWASM   = "wasm"   // a worker in the browser
)

//go:embed assets
var assets embed.FS

// files are the page's files but index.html, which writeIndex writes.
func files() map[string][]byte {
	files := map[string][]byte{}
	for _, name := range []string{"page.css", "page.js", "worker.js"} {
		text, err := assets.ReadFile("assets/" + name)
		if err != nil {
			panic(err) // it is embedded
		}
		files[name] = text
	}
	return files
}

// presetAddress marks a query as part of an address: lab.Setup.Query has escaped it.
func presetAddress(p lab.Preset) template.URL { return template.URL("?" + p.Query) }

var page = template.Must(template.New("page.html").
	Funcs(template.FuncMap{"address": presetAddress}).ParseFS(assets, "assets/page.html"))

// writeIndex writes the page itself, for an engine.
func writeIndex(w io.Writer, engine string) error {
	return page.Execute(w, struct {
		Engine string
		*lab.Form
	}{engine, lab.NewForm()})
}
