package calls

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/arguments"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/atomicfile"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/skill"
)

// saveAll saves all files of the skill, below the name of the server and the path of the skill, so
// that skills of different servers are in different places (SEP-2640, "Skill URIs"). An error
// leaves no file behind.
func (s *Skill) saveAll(ctx context.Context, std *term.Streams, c *client.Client) (err error) {
	entry, err := s.find(ctx, c)
	if err != nil {
		return err
	}
	if entry.Resources.Dynamic {
		return command.Usagef("%s: its files are generated, and not listed", s.name).WithHint(
			"leave out --save, and name the FILE")
	}
	fail := func(err error) error {
		return &command.Failure{Code: "internal", What: "--save", Why: arguments.Plain(err).Error()}
	}
	if err := os.MkdirAll(s.save, 0o777); err != nil {
		return fail(err)
	}
	root, err := os.OpenRoot(s.save)
	if err != nil {
		return fail(err)
	}
	defer root.Close()
	label := atomicfile.Name(unsafeName.ReplaceAllString(s.target.Name(), "_"))
	directory, _ := skill.Root(entry.URI)
	below, err := savedPath(label, directory)
	if err != nil {
		return fail(err)
	}
	shown := filepath.Join(s.save, filepath.FromSlash(below))
	if _, err := root.Lstat(below); !errors.Is(err, fs.ErrNotExist) {
		return command.Usagef("%s exists", shown).WithHint("remove it, or choose another directory")
	}
	defer func() {
		if err != nil {
			_ = root.RemoveAll(below) // an incomplete skill must not be used
		}
	}()
	for _, f := range entry.Resources.Files {
		content, err := s.read(ctx, c, entry, f.URI)
		if err != nil {
			return err
		}
		name, err := savedPath(label, f.URI)
		if err == nil {
			err = createFile(root, name, content)
		}
		if err != nil {
			return fail(err)
		}
	}
	std.Out.Print(printable.Line(shown) + "\n")
	return nil
}

// savedPath returns the path of what a URI names, below the directory of a server.
func savedPath(label, uri string) (string, error) {
	_, rest, _ := strings.Cut(uri, "://")
	name, err := url.PathUnescape(rest)
	if err == nil && strings.ContainsAny(name, "\x00\\:") {
		err = fmt.Errorf("%.100q cannot be the name of a file", name)
	}
	return path.Join(label, path.Clean("/"+name)), err
}

// createFile creates a file and its directories. The file must not exist.
func createFile(root *os.Root, name string, content []byte) error {
	if err := root.MkdirAll(path.Dir(name), 0o777); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// unsafeName matches characters that the name of a directory must not have.
var unsafeName = regexp.MustCompile(`[^A-Za-z0-9._+-]+`)
