package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/stdwire/stdwire/internal/jsonscan"
)

// An echoServer is the server that clients are measured with. It does as little as possible, so
// that the client dominates the measurement.
type echoServer struct{ modern bool }

const (
	helloLegacy = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"answers","version":"1"}}`
	helloModern = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private",` +
		`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"answers","version":"1"}}}`
)

// append appends the response to a message, if it has one. The result of tools/call is the argument
// "text".
func (a echoServer) append(dst, message []byte) []byte {
	id := jsonscan.Member(message, "id")
	if id == nil {
		return dst
	}
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id...)
	switch method := jsonscan.Member(message, "method"); {
	case bytes.Equal(method, []byte(`"tools/call"`)):
		dst = append(dst, `,"result":{`...)
		if a.modern {
			dst = append(dst, `"resultType":"complete",`...)
		}
		dst = append(dst, `"content":[{"type":"text","text":`...)
		dst = append(dst,
			jsonscan.Member(jsonscan.Member(jsonscan.Member(message, "params"), "arguments"),
				"text")...)
		dst = append(dst, `}]}}`...)
	case bytes.Equal(method, []byte(`"tools/list"`)):
		dst = append(dst, `,"result":{`...)
		if a.modern {
			dst = append(dst, `"resultType":"complete","ttlMs":0,"cacheScope":"private",`...)
		}
		dst = append(append(dst, `"tools":`...), a.tools()...)
		dst = append(dst, `}}`...)
	case bytes.Equal(method, []byte(`"server/discover"`)) && a.modern:
		dst = append(dst, `,"result":`+helloModern+`}`...)
	case bytes.Equal(method, []byte(`"initialize"`)) && !a.modern:
		dst = append(dst, `,"result":`+helloLegacy+`}`...)
	default:
		dst = append(dst, `,"error":{"code":-32601,"message":"Method not found"}}`...)
	}
	return dst
}

// tools returns a list as long as that of the official SDK's everything server.
func (a echoServer) tools() []byte {
	var all []byte
	for i := range 13 {
		name := "echo"
		if i > 0 {
			name = fmt.Sprint("another", i)
		}
		all = fmt.Appendf(all,
			`,{"name":%q,"description":%q,"inputSchema":{"type":"object","properties":{"text":{"type":"string","description":"What to say."}},"required":["text"]}}`,
			name, strings.Repeat("Says what it is told, again. ", 12))
	}
	all[0] = '['
	return append(all, ']')
}

// serveLines responds to each line. It writes the responses to one Read with one Write.
func (a echoServer) serveLines(in io.Reader, out io.Writer) error {
	lines := bufio.NewReaderSize(in, 2<<20)
	var answers []byte
	for {
		line, err := lines.ReadSlice('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		before := len(answers)
		if answers = a.append(answers, line); len(answers) > before {
			answers = append(answers, '\n')
		}
		if lines.Buffered() == 0 && len(answers) > 0 {
			if _, err := out.Write(answers); err != nil {
				return err
			}
			answers = answers[:0]
		}
	}
}

func (a echoServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	message, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	answer := a.append(nil, message)
	if len(answer) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header()["Content-Type"] = []string{"application/json"}
	_, _ = w.Write(answer)
}

// runEchoServer is the main function of the server process: over stdio, or over HTTP until standard
// input ends.
func runEchoServer(transport, era string) error {
	a := echoServer{modern: era == "modern"}
	if transport == "stdio" {
		return a.serveLines(os.Stdin, os.Stdout)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- http.Serve(listener, a) }()
	fmt.Printf("http://%s/mcp\n", listener.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, listener.Close(), exceptError(<-ended, net.ErrClosed))
}
