package web

import (
	"slices"

	"github.com/stdwire/stdwire/client/host/config"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/configfile"
	"github.com/stdwire/stdwire/internal/itemname"
)

// A foundFile is the user's file of another application with servers that the page can import.
type foundFile struct {
	Title   string   `json:"title"` // of the application
	Path    string   `json:"path"`
	Servers []string `json:"servers"` // that are not configured yet and have no errors
}

// found returns the user's files of other applications that have servers which are not configured
// yet. It only reads them. Files of the working directory are left out: somebody else may have
// written them.
func (c *configuration) found() []foundFile {
	all := []foundFile{}
	if c == nil || c.status().Off != "" {
		return all
	}
	c.mu.Lock()
	loaded := c.loaded
	c.mu.Unlock()
	for _, f := range configfile.ApplicationFiles(c.env) {
		if f.Workspace {
			continue
		}
		read := slices.ContainsFunc(loaded.Files, func(own config.FileStatus) bool {
			return own.Path == f.Path // a server of it waits for trust, or is listed already
		})
		one := foundFile{Title: f.Title, Path: f.Path, Servers: []string{}}
		for _, s := range f.Servers {
			configured := slices.ContainsFunc(loaded.Servers, func(own *config.Server) bool {
				return own.ID == itemname.SuggestID(s.ID)
			})
			if !read && s.Err == nil && !configured {
				one.Servers = append(one.Servers, itemname.SuggestID(s.ID))
			}
		}
		if len(one.Servers) > 0 {
			all = append(all, one)
		}
	}
	return all
}
