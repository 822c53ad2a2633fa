package rpc_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
)

// A peer serves requests from a reader that does not close, to a writer that does not close.
func TestStream(t *testing.T) {
	var r rpc.Router
	rpc.Handle(&r, "add", func(_ context.Context, terms []int) (int, error) {
		return terms[0] + terms[1], nil
	})
	var out bytes.Buffer
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}` + "\n")
	peer := rpc.Options{Handler: r.Serve}.New(rpc.Stream(in, &out))
	assert.Equal(t, peer.Wait(), io.EOF)
	assert.Equal(t, out.String(), `{"jsonrpc":"2.0","id":1,"result":3}`+"\n")
}

type closer struct{ err error }

func (c *closer) Close() error { return c.err }

func TestStreamClosesWhatCloses(t *testing.T) {
	noReader, noWriter := errors.New("no reader"), errors.New("no writer")
	reader := struct {
		io.Reader
		*closer
	}{strings.NewReader(""), &closer{noReader}}
	writer := struct {
		io.Writer
		*closer
	}{io.Discard, &closer{noWriter}}
	for _, c := range []struct {
		r    io.Reader
		w    io.Writer
		want []error
	}{
		{reader, writer, []error{noReader, noWriter}},
		{reader, io.Discard, []error{noReader}},
		{reader.Reader, writer, []error{noWriter}},
	} {
		err := rpc.Stream(c.r, c.w).Close()
		for _, want := range c.want {
			assert.ErrorIs(t, err, want)
		}
	}
	assert.NilError(t, rpc.Stream(bufio.NewReader(reader), io.Discard).Close())
}

// Two programs that are connected by two pipes, without a type of their own.
func TestStreamOfPipes(t *testing.T) {
	noLeak(t)
	r1, w2 := io.Pipe()
	r2, w1 := io.Pipe()
	client := rpc.Options{}.New(rpc.Stream(r1, w1))
	server := rpc.Options{
		Handler: func(_ context.Context, req *rpc.Request) (any, error) { return req.Method, nil },
	}.New(rpc.Stream(r2, w2))
	var got string
	assert.NilError(t, client.Call(t.Context(), "echo", nil, &got))
	assert.Equal(t, got, "echo")
	assert.NilError(t, client.Close())
	assert.NilError(t, client.Wait())
	assert.Equal(t, server.Wait(), io.EOF)
}
