package serve

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/stdwire/stdwire/client/host"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
)

// warmLists starts all servers that are not disabled and fetches their lists, which Close stores
// for the next start. It returns a [*command.Failure] if a list cannot be fetched.
func (st *Reloader) warmLists(ctx context.Context) error {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed []string
	n := 0
	for _, s := range st.Gateway.Manager().Status() {
		if s.State == host.Disabled {
			continue
		}
		n++
		wg.Go(func() {
			if err := st.Gateway.Refresh(ctx, s.ID); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, s.ID)
				st.g.Std.Err.Printf("warning: %v", err)
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if failed != nil {
		slices.Sort(failed)
		return &command.Failure{Code: "unreachable", Why: fmt.Sprintf(
			"not all lists of %s could be fetched; the others are stored",
			strings.Join(failed, ", "))}
	}
	tools := 0
	for _, some := range st.Gateway.Tools() {
		tools += some
	}
	st.g.Std.Err.Printf("stdwire: the lists of %s are stored, with %s",
		command.Plural(n, "server"), command.Plural(tools, "tool"))
	return nil
}
