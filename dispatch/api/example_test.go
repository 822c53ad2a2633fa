package api_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/dispatch/api"
)

type NoteQuery struct {
	ID string `json:"id" doc:"Which note."`
}

type Note struct {
	Text string `json:"text"`
}

func getNote(_ context.Context, q NoteQuery) (Note, error) {
	if q.ID != "7" {
		return Note{}, dispatch.Errorf(dispatch.NotFound, "there is no note %q", q.ID)
	}
	return Note{"Buy milk."}, nil
}

// A whole program.
func ExampleNew() {
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog,
		dispatch.Spec{Name: "note.get", Summary: "Get a note.", Type: dispatch.Read,
			Errors: []dispatch.Code{dispatch.NotFound}}, getNote)
	dispatcher := dispatch.Options{}.New(catalog)
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", api.Options{}.New(dispatcher)))
}

// Only those that the program knows may call.
func ExampleOptions_New() {
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog,
		dispatch.Spec{Name: "note.get", Summary: "Get a note.", Type: dispatch.Read,
			Errors: []dispatch.Code{dispatch.NotFound}}, getNote)
	options := api.Options{Principal: func(r *http.Request) (string, error) {
		if r.Header.Get("Authorization") != "Bearer of-ann" {
			return "", dispatch.Errorf(dispatch.PermissionDenied, "this is for ann only")
		}
		return "ann", nil
	}}
	server := httptest.NewServer(options.New(dispatch.Options{}.New(catalog)))
	defer server.Close()

	for _, call := range []struct{ token, body string }{
		{"of-ann", `{"action":"get","params":{"id":"7"}}`},
		{"of-ann", `{"action":"get","params":{"id":"8"}}`},
		{"of-bob", `{"action":"get","params":{"id":"7"}}`},
	} {
		r, err := http.NewRequest("POST", server.URL+"/v1/note", strings.NewReader(call.body))
		if err != nil {
			log.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+call.token)
		answer, err := server.Client().Do(r)
		if err != nil {
			log.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(answer.StatusCode, string(text))
	}
	// Output:
	// 200 {"success":true,"data":{"text":"Buy milk."},"error":null}
	// 404 {"success":false,"data":null,"error":{"code":"not_found","message":"there is no note \"8\"","details":null,"recoverable":true}}
	// 403 {"success":false,"data":null,"error":{"code":"permission_denied","message":"this is for ann only","details":null,"recoverable":false}}
}
