package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

// Goroutines of a handler that call Once with the same key at the same time run the function once,
// and none waits forever, however the function ends.
func TestOnceIsSingleFlight(t *testing.T) {
	const stranded = "0 server: Once: the function panicked or ended its goroutine, in another goroutine"
	for name, tc := range map[string]struct {
		ends func() (int, error)
		want []string
	}{
		"value": {func() (int, error) { return 7, nil },
			[]string{"7 <nil>", "7 <nil>", "7 <nil>"}},
		"error": {func() (int, error) { return 0, errors.New("no") },
			[]string{"0 no", "0 no", "0 no"}},
		"panic": {func() (int, error) { panic("ashes") }, []string{stranded, stranded, "panic"}},
		"goexit": {func() (int, error) { runtime.Goexit(); return 0, nil },
			[]string{stranded, stranded, "goexit"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := make(chan string, 3)
				runs := make(chan struct{}, 3)
				release := make(chan struct{})
				s := made(quiet, func(s *server.Server) {
					must(t, s.AddRawTool(
						server.RawTool{Tool: mcp.Tool{Name: "once"},
							Call: func(ctx context.Context, _ json.RawMessage) (
								*mcp.CallToolResult, error) {
								done := make(chan struct{})
								for range 3 {
									go func() {
										ended := "goexit"
										defer func() {
											if recover() != nil {
												ended = "panic"
											}
											got <- ended
											done <- struct{}{}
										}()
										v, err := server.Once(ctx, "k",
											func(context.Context) (int, error) {
												runs <- struct{}{}
												<-release
												return tc.ends()
											})
										ended = fmt.Sprint(v, " ", err)
									}()
								}
								for range 3 {
									<-done
								}
								return textResult("done"), nil
							}}))
				})
				k := speak(t, s, newest, `{}`)
				k.start("tools/call", `{"name":"once"}`)
				synctest.Wait()
				assert.Check(t, len(runs) == 1, "the function runs %d times", len(runs))
				close(release)
				k.next()
				all := []string{<-got, <-got, <-got}
				slices.Sort(all)
				assert.DeepEqual(t, all, tc.want)
				assert.Equal(t, len(runs), 1)
			})
		})
	}
}
