package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/stdwire/stdwire/dispatch"
)

type NoteQuery struct {
	ID string `json:"id" doc:"Which note."`
}

type Note struct {
	Text string `json:"text"`
}

var notes = map[string]string{"7": "Buy milk."}

func getNote(ctx context.Context, q NoteQuery) (Note, error) {
	text, ok := notes[q.ID]
	if !ok {
		return Note{}, dispatch.Errorf(dispatch.NotFound, "there is no note %q", q.ID)
	}
	return Note{text}, nil
}

func Example() {
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog, dispatch.Spec{
		Name:    "note.get",
		Summary: "Get a note.",
		Type:    dispatch.Read,
		Errors:  []dispatch.Code{dispatch.NotFound},
	}, getNote)

	dispatcher := dispatch.Options{Timeout: time.Minute}.New(catalog)
	for _, arguments := range []string{`{"id":"7"}`, `{"id":"8"}`, `{}`} {
		envelope := dispatcher.Dispatch(context.Background(), &dispatch.Call{
			Operation: "note.get",
			Arguments: json.RawMessage(arguments),
		})
		fmt.Printf("%s\n", envelope.AppendJSON(nil))
	}
	// Output:
	// {"success":true,"data":{"text":"Buy milk."},"error":null}
	// {"success":false,"data":null,"error":{"code":"not_found","message":"there is no note \"8\"","details":null,"recoverable":true}}
	// {"success":false,"data":null,"error":{"code":"missing_param","message":"invalid arguments: missing required property \"id\"","details":{"errors":[{"path":"","property":"id","reason":"missing required property \"id\""}]},"recoverable":true}}
}

func ExampleInterceptor() {
	audit := func(next dispatch.Handler) dispatch.Handler {
		return func(ctx context.Context, i *dispatch.Invocation) (dispatch.Result, error) {
			result, err := next(ctx, i)
			fmt.Println(i.Principal, i.Name, i.Operation.Spec().Type,
				err == nil && !result.IsError())
			return result, err
		}
	}
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog,
		dispatch.Spec{Name: "note.get", Summary: "Get a note.", Type: dispatch.Read}, getNote)
	dispatcher := dispatch.Options{Interceptors: []dispatch.Interceptor{audit}}.New(catalog)

	dispatcher.Dispatch(context.Background(),
		&dispatch.Call{Operation: "note.get", Arguments: json.RawMessage(`{"id":"7"}`),
			Principal: "ann"})
	// Output: ann note.get read true
}

// An application's own code is declared before the operations that return it.
func ExampleCatalog_Declare() {
	const quotaExceeded dispatch.Code = "quota_exceeded"
	catalog := dispatch.NewCatalog()
	err := catalog.Declare(
		dispatch.CodeInfo{Code: quotaExceeded, Recoverable: true, HTTPStatus: 429, ExitCode: 5,
			Summary: "Too many calls today."})
	if err != nil {
		fmt.Println(err)
	}
	dispatch.Add(catalog,
		dispatch.Spec{Name: "mail.send", Summary: "Send a mail.", Type: dispatch.Write,
			Errors: []dispatch.Code{quotaExceeded}},
		func(context.Context, struct{}) (struct{}, error) {
			return struct{}{},
				dispatch.Errorf(quotaExceeded,
					"all 100 mails of today are sent").With(map[string]int{"limit": 100})
		})

	envelope := dispatch.Options{}.New(catalog).Dispatch(context.Background(),
		&dispatch.Call{Operation: "mail.send"})
	info, _ := catalog.CodeInfo(envelope.Err.Code)
	fmt.Printf("%s\nHTTP %d\n", envelope.AppendJSON(nil), info.HTTPStatus)
	// Output:
	// {"success":false,"data":null,"error":{"code":"quota_exceeded","message":"all 100 mails of today are sent","details":{"limit":100},"recoverable":true}}
	// HTTP 429
}

// The caller sees only text that the operation chose with Errorf; Go code in the same process can
// still find the cause.
func ExampleErrorf() {
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog,
		dispatch.Spec{Name: "key.show", Summary: "Show a key.", Type: dispatch.Read},
		func(context.Context, struct{}) (string, error) {
			_, err := os.ReadFile("/nonexistent/secret.key")
			return "", err
		})
	dispatcher := dispatch.Options{Logger: slog.New(slog.DiscardHandler)}.New(catalog)

	envelope := dispatcher.Dispatch(context.Background(), &dispatch.Call{Operation: "key.show"})
	fmt.Println(envelope.Err)
	fmt.Println(errors.Is(envelope.Err, os.ErrNotExist))
	// Output:
	// internal_error: the operation failed; the text of its error is withheld: the log has it, and ShowErrors shows it
	// true
}
