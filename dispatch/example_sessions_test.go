package dispatch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/stdwire/stdwire/dispatch"
)

type Counter struct{ n int }

// A counter outlives a call: one operation opens a session, another one uses it, and Shutdown
// closes it at the end of the program.
func ExampleSessions() {
	counters := dispatch.SessionOptions[*Counter]{
		Idle: 10 * time.Minute,
		Close: func(_ context.Context, id string, c *Counter) error {
			fmt.Println("closing", id, "at", c.n)
			return nil
		},
	}.New()

	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog,
		dispatch.Spec{Name: "counter.start", Summary: "Start a counter.", Type: dispatch.Lifecycle,
			Errors: []dispatch.Code{dispatch.StateError}},
		func(ctx context.Context, in struct {
			Name string `json:"name"`
		}) (string, error) {
			return counters.Open(ctx, func(context.Context) (string, *Counter, error) {
				return in.Name, &Counter{}, nil
			})
		})
	dispatch.Add(catalog,
		dispatch.Spec{Name: "counter.add", Summary: "Add to a counter.", Type: dispatch.Write},
		func(ctx context.Context, in struct {
			dispatch.Session
			By int `json:"by"`
		}) (int, error) {
			c, err := counters.Get(ctx, in.Session.Session)
			if err != nil {
				return 0, err
			}
			c.n += in.By
			return c.n, nil
		})

	dispatcher := dispatch.Options{}.New(catalog)
	call := func(operation, arguments string) {
		envelope := dispatcher.Dispatch(context.Background(),
			&dispatch.Call{Operation: operation, Arguments: json.RawMessage(arguments)})
		fmt.Printf("%s\n", envelope.AppendJSON(nil))
	}
	call("counter.add", `{"by":1}`)
	call("counter.start", `{"name":"sheep"}`)
	call("counter.add", `{"by":2}`) // in the only session
	call("counter.start", `{"name":"goats"}`)
	call("counter.add", `{"by":1}`)
	call("counter.add", `{"by":1,"session":"sheep"}`)

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := counters.Shutdown(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// {"success":false,"data":null,"error":{"code":"not_running","message":"no session is running","details":{"sessions":[]},"recoverable":true}}
	// {"success":true,"data":"sheep","error":null,"_meta":{"session_id":"sheep"}}
	// {"success":true,"data":2,"error":null,"_meta":{"session_id":"sheep"}}
	// {"success":true,"data":"goats","error":null,"_meta":{"session_id":"goats"}}
	// {"success":false,"data":null,"error":{"code":"invalid_input","message":"several sessions are running; say which: sheep, goats","details":{"sessions":["sheep","goats"]},"recoverable":true}}
	// {"success":true,"data":3,"error":null,"_meta":{"session_id":"sheep"}}
	// closing goats at 0
	// closing sheep at 3
}
