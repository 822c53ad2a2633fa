package mcptest

import (
	"context"
	"fmt"
	"sync"
	"testing"
)

// Answers returns a function that answers the questions of a server in order. It is for
// [client.Options].OnElicit and OnSample:
//
//	o.OnElicit = mcptest.Answers[mcp.ElicitParams](t,
//		&mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(`{"size":"large"}`)},
//		&mcp.ElicitResult{Action: mcp.ElicitDecline})
//
// The test fails if there are more questions than answers, or fewer. To check the questions, write
// such a function by hand.
func Answers[Params, Result any](t testing.TB, answers ...Result) func(context.Context,
	Params) (Result, error) {
	t.Helper()
	var mu sync.Mutex
	asked := 0
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		if asked < len(answers) {
			t.Errorf("mcptest: the server has asked %d of %d questions", asked, len(answers))
		}
	})
	return func(_ context.Context, params Params) (result Result, err error) {
		mu.Lock()
		defer mu.Unlock()
		asked++
		if asked > len(answers) {
			t.Errorf("mcptest: question %d has no answer: %+v", asked, params)
			return result, fmt.Errorf("the test has no answer to question %d", asked)
		}
		return answers[asked-1], nil
	}
}
