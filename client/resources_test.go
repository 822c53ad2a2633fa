package client

import (
	"context"
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
	"github.com/stdwire/stdwire/server"
)

func TestResources(t *testing.T) {
	s := newServer(server.Options{PageSize: 2})
	for i := range 5 {
		addResource(t, s, fmt.Sprintf("file:///%d", i), say("contents"))
	}
	for i := range 3 {
		assert.NilError(t, s.AddResourceTemplate(server.ResourceTemplate{
			ResourceTemplate: mcp.ResourceTemplate{URITemplate: fmt.Sprintf("x%d:///{a}", i),
				Name: "x"},
			Read: func(_ context.Context, uri string,
				values map[string]string) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{
					Contents: []mcp.ResourceContents{{URI: uri, Blob: []byte(values["a"])}}}, nil
			}}))
	}
	eras(t, func(t *testing.T, era mcp.Era) {
		c := connectTo(t, s, Options{Era: era})
		assert.Equal(t, names(c.Resources(t.Context()), uriOf),
			"file:///0 file:///1 file:///2 file:///3 file:///4")
		assert.Equal(t, names(c.ResourceTemplates(t.Context()), templateOf),
			"x0:///{a} x1:///{a} x2:///{a}")
		read, err := c.ReadResource(t.Context(), "file:///3")
		assert.NilError(t, err)
		assert.Equal(t, read.Contents[0].Text, "contents")
		read, err = c.ReadResource(t.Context(), "x1:///b%20c")
		assert.NilError(t, err)
		assert.Equal(t, string(read.Contents[0].Blob), "b c")
		_, err = c.ReadResource(t.Context(), "file:///none")
		assert.ErrorContains(t, err, `server "server": resources/read "file:///none": `)
		assert.ErrorIs(t, err,
			&rpc.Error{Code: map[mcp.Era]int{mcp.Legacy: mcp.CodeResourceNotFound,
				mcp.Modern: rpc.CodeInvalidParams}[era]})
	})
}
