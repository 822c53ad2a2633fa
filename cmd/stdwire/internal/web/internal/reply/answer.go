// Package reply reads the requests of the page and answers them: JSON, problems and differences.
package reply

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/internal/httpdeadline"
	"github.com/stdwire/stdwire/internal/jsonscan"
	"github.com/stdwire/stdwire/rpc"
)

// MaxBody is the greatest size in bytes of a request of the page. An argument may be a file.
const MaxBody = 32 << 20

// Decode decodes the body of a request. If it is invalid, decode answers and returns false.
func Decode(w http.ResponseWriter, r *http.Request, into any) bool {
	deadline := httpdeadline.New(w, r)
	d := json.NewDecoder(withoutBOM(http.MaxBytesReader(w, r.Body, MaxBody)))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	deadline.BodyRead()
	if err != nil {
		Refuse(w, http.StatusBadRequest, "the request is invalid: "+err.Error())
		return false
	}
	return true
}

// withoutBOM returns a reader of in without a byte order mark at its start.
func withoutBOM(in io.Reader) io.Reader {
	b := bufio.NewReader(in)
	if start, _ := b.Peek(3); len(jsonscan.TrimBOM(start)) < len(start) {
		_, _ = b.Discard(len(start))
	}
	return b
}

// JSON answers with a value as JSON.
func JSON(w http.ResponseWriter, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		Refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // an error means that the page has gone
}

// A Problem is an error as the page shows it.
type Problem struct {
	Code    string `json:"code"` // of a [command.Failure]
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	Stderr  string `json:"stderr,omitempty"` // the end of the server's, if it may say why

	// Of a JSON-RPC error:
	RPC        *int            `json:"rpc,omitempty"` // the code
	RPCName    string          `json:"rpc_name,omitempty"`
	RPCMessage string          `json:"rpc_message,omitempty"` // unless Message contains it
	Advice     string          `json:"advice,omitempty"`      // what to do about the code
	Facts      [][2]string     `json:"facts,omitempty"`       // of the data: terms and texts
	Data       json.RawMessage `json:"data,omitempty"`
}

// ProblemOf converts an error of a server, of the client or of the configuration.
func ProblemOf(err error) *Problem {
	p := &Problem{Code: "internal", Message: err.Error()}
	if f := target.Explain(err); f != nil {
		p = &Problem{Code: f.Code, Message: f.Error(), Hint: f.Hint, Stderr: f.Stderr}
	}
	if e, ok := errors.AsType[*rpc.Error](err); ok {
		code := int(e.Code)
		p.RPC, p.Data = &code, e.Data
		p.explain(e.Code)
		if !strings.Contains(p.Message, e.Message) {
			p.RPCMessage = e.Message
		}
	}
	return p
}

// Refuse answers with an error.
func Refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(Problem{Code: "refused", Message: message})
}

// Fail answers with err as a problem.
func Fail(w http.ResponseWriter, err error) {
	p := ProblemOf(err)
	status := http.StatusBadGateway
	switch p.Code {
	case "usage", "bad_args", "config":
		status = http.StatusBadRequest
	case "not_found":
		status = http.StatusNotFound
	case "denied", "untrusted":
		status = http.StatusForbidden
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(p)
}

// Number returns a number of the query, or fallback if there is none.
func Number(r *http.Request, name string, fallback int64) (int64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return fallback, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, command.Usagef("%s: %.20q is not a number", name, text)
	}
	return n, nil
}

// PathNumber returns the number n of the path.
func PathNumber(r *http.Request) (n int64, err error) {
	if _, err = fmt.Sscan(r.PathValue("n"), &n); err != nil {
		return 0, command.Usagef("%.20q is not a number", r.PathValue("n"))
	}
	return n, nil
}

// NotFound returns the failure for something that the page asks for and that does not exist.
func NotFound(what string, name any) error {
	return &command.Failure{Code: "not_found", Why: fmt.Sprintf("there is no %s %v", what, name)}
}
