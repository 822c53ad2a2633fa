package target

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client"
)

// What is told anyway is not logged, however it is wrapped, and whatever the log has been given.
func TestSuppressingHandler(t *testing.T) {
	var b bytes.Buffer
	plain := slog.New(SuppressHandler[*client.StartError]{Handler: slog.NewTextHandler(&b, nil)})
	told := fmt.Errorf("wrapped: %w", &client.StartError{Err: errors.New("no")})
	for _, log := range []*slog.Logger{plain, plain.With("a", 1), plain.WithGroup("g"),
		plain.With("a", 1).WithGroup("g").With("b", 2)} {
		log.Warn("left out", slog.String("server", "x"), slog.Any("error", told))
		log.Warn("logged", slog.Any("error", errors.New("another")))
		log.Warn("logged")
	}
	assert.Equal(t, strings.Count(b.String(), "logged"), 8)
	assert.Assert(t, !strings.Contains(b.String(), "left out"), b.String())
}
