package api_test

import (
	"context"
	"log/slog"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/api"
)

// What is checked is what runs: an operation that the catalog gets only while a call waits for it
// is as hidden, and as particular about its arguments, as one that was there before.
func TestOperationsThatComeLateAreChecked(t *testing.T) {
	for _, test := range []struct {
		name, body string
		visible    bool
		status     int
		want       string
		runs       int
	}{
		{"hidden", `{"action":"come"}`, false, 404, "unknown_operation", 0},
		{"takes no session", `{"action":"come","session":"s"}`, true, 400, "invalid_input", 0},
		{"visible", `{"action":"come"}`, true, 200, "", 1},
	} {
		c := dispatch.NewCatalog()
		runs := 0
		d := dispatch.Options{Logger: slog.New(slog.DiscardHandler),
			Missing: func(context.Context, string) error {
				dispatch.Add(c, dispatch.Spec{Name: "late.come", Summary: "Comes late.",
					Type: dispatch.Read}, func(context.Context, struct{}) (struct{}, error) {
					runs++
					return struct{}{}, nil
				})
				return nil
			}}.New(c)
		s := &surface{Handler: api.Options{Visible: func(context.Context,
			*dispatch.Operation) bool {
			return test.visible
		}}.New(d)}
		a := s.ask(t, "POST", "/v1/late", test.body)
		assert.Equal(t, a.Code, test.status, "%s: %s", test.name, a.Body)
		if test.want != "" {
			assert.Equal(t, a.Error.Code, test.want, test.name)
		}
		assert.Equal(t, runs, test.runs, test.name)
	}
}
