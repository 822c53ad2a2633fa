package skillindex

import (
	"context"
	"errors"
	"io/fs"
	"sync/atomic"
	"unicode/utf8"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/skill"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// A Source is a file system with skills.
type Source struct {
	fs.FS
	Tree atomic.Pointer[skill.Tree] // the skills that are served
}

// Read returns the contents of a file of the skills, nil if there is none with this URI. If the
// file has changed since Tree was read, it calls reload with that tree, and then reads once more.
func (s *Source) Read(ctx context.Context, uri string,
	reload func(stale *skill.Tree)) (*mcp.ReadResourceResult, error) {
	tree := s.Tree.Load()
	content, err := readFile(ctx, tree, uri)
	if errors.Is(err, skill.ErrChanged) || errors.Is(err, fs.ErrNotExist) {
		reload(tree)
		content, err = readFile(ctx, s.Tree.Load(), uri)
	}
	switch {
	case errors.Is(err, skill.ErrChanged):
		return nil, rpc.Errorf(rpc.CodeInternalError, "%.200q: %v", uri, err)
	case err != nil || content == nil:
		return nil, err
	}
	c := mcp.ResourceContents{URI: uri, MIMEType: skill.MIMEType(uri)}
	if utf8.Valid(content) {
		c.Text = string(content)
	} else {
		c.Blob = content
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{c}}, nil
}

// readFile returns the content of a file, nil if tree does not have it.
func readFile(ctx context.Context, tree *skill.Tree, uri string) ([]byte, error) {
	f, ok := tree.Files[uri]
	if !ok {
		return nil, nil
	}
	if err := dispatch.Reserve(ctx, 2*f.Size); err != nil {
		return nil, err
	}
	return f.Read()
}
