package breakergrpc_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/atomicbreaker/breaker/contrib/breakergrpc"
	"google.golang.org/grpc/codes"
)

// TestCodesAreDocumented holds the table of docs/statuses.md against OutcomeOf.
func TestCodesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/statuses.md")
	if err != nil {
		t.Fatal(err)
	}
	said := make(map[string]string)
	for _, m := range regexp.MustCompile(`(?m)^\| ([A-Z]\w+) \| (\w+) \|$`).FindAllStringSubmatch(string(text), -1) {
		said[m[1]] = m[2]
	}
	for code := codes.OK; code <= codes.Unauthenticated; code++ {
		want := breakergrpc.OutcomeOf(code).String()
		if got := said[code.String()]; strings.ToLower(got) != want {
			t.Errorf("docs/statuses.md has %q for %v, want %s", got, code, want)
		}
	}
	if len(said) != int(codes.Unauthenticated)+1 {
		t.Errorf("docs/statuses.md has %d codes", len(said))
	}
}
