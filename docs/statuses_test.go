package docs_test

import (
	"net/http"
	"regexp"
	"strconv"
	"testing"

	"github.com/atomicbreaker/breaker/atomicbreaker"
	"github.com/atomicbreaker/breaker/contrib/breakerhttp"
	"github.com/stretchr/testify/require"
)

type answers int

func (status answers) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: int(status), Body: http.NoBody, Request: r}, nil
}

// TestStatuses holds the table of HTTP statuses against what a Transport makes of each.
func TestStatuses(t *testing.T) {
	said := make(map[int]string)
	for _, m := range regexp.MustCompile(`(?m)^\| (\d{3})(?: to (\d{3}))? \| (\w+) \|$`).FindAllStringSubmatch(read(t, "statuses.md"), -1) {
		from, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		to := from
		if m[2] != "" {
			to, err = strconv.Atoi(m[2])
			require.NoError(t, err)
		}
		for status := from; status <= to; status++ {
			require.Empty(t, said[status], "%d is said twice", status)
			said[status] = m[3]
		}
	}
	for status := 100; status < 600; status++ {
		b := atomicbreaker.MustNew(atomicbreaker.Config{})
		request, err := http.NewRequestWithContext(t.Context(), "GET", "http://example.com/", nil)
		require.NoError(t, err)
		response, err := (&breakerhttp.Transport{Breaker: b, Base: answers(status)}).RoundTrip(request)
		require.NoError(t, err)
		response.Body.Close()
		s := b.Snapshot()
		counted := map[[3]uint64]string{{1, 0, 0}: "Success", {0, 1, 0}: "Failure", {0, 0, 1}: "Ignored"}[[3]uint64{s.Succeeded, s.Failed, s.Ignored}]
		require.Equal(t, said[status], counted, "%d", status)
	}
}
