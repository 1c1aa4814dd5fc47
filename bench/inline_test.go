package bench

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// The pure questions cost a bare load only where they are inlined, and Ready is
// one step below the compiler's limit.
func TestQuestionsAreInlined(t *testing.T) {
	build := exec.CommandContext(t.Context(), "go", "build", "-gcflags=-m", "../atomicbreaker")
	said, err := build.CombinedOutput()
	require.NoError(t, err, string(said))
	for _, question := range []string{"Ready", "State"} {
		require.Contains(t, string(said), "can inline (*Breaker)."+question+"\n")
	}
}
