package calls

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/output"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/target"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/term"
	"github.com/stdwire/stdwire/internal/printable"
	"github.com/stdwire/stdwire/internal/skill"
	"github.com/stdwire/stdwire/rpc"
	"github.com/stdwire/stdwire/rpc/mcp"
)

// SkillCommand is stdwire skill.
func SkillCommand() command.Command {
	all := command.Subcommands{skillGetCommand()}
	return command.Command{
		Name: "skill", Usage: "get NAME|URI [FILE] [FLAG]… [-- SERVER-COMMAND…]",
		Summary: "read and save the skills of a server, and verify their files",
		Help: `A skill is a directory with instructions for a model in its SKILL.md. stdwire ls skills lists
those of a server.

` + all.List(),
		Make: all.Make,
	}
}

func skillGetCommand() command.Command {
	return command.Command{
		Name: "skill get", Usage: "NAME|URI [FILE] [-o text|json|raw] [--save DIR] [FLAG]… [-- SERVER-COMMAND…]",
		Summary: "print a file of a skill, or save all files",
		Help: `Prints the SKILL.md of a skill, or another FILE of it, as in references/FORMS.md. Each file must
have the size and the digest of the skill's entry, and a SKILL.md the front matter of the entry;
otherwise it is not printed. json prints the entry of the skill and reads no file.

--save DIR saves all files in DIR/SERVER, below the path of the skill, which must not exist yet.
A file that matches its entry is not thereby safe, because the server has written both: read it
before a program or a model follows it.

  stdwire skill get pdf -s docs
  stdwire skill get skill://acme/refunds/SKILL.md --save skills -s docs`,
		Make: func() (command.Grammar, command.Runner) {
			s := &Skill{target: target.NewTarget().OrServers()}
			save := output.SaveFlag(&s.save)
			save.Help = "save all files of the skill there"
			flags := append([]command.Flag{command.FormatFlag(&s.Output, "text", "json", "raw"), save,
				TimeoutFlag(&s.Timeout)}, s.target.Flags()...)
			return command.Grammar{Flags: flags, Word: s.Word, Connection: s.target.SetConnection,
				Command: s.target.Command}, s.run
		},
	}
}

// A Skill holds the options of stdwire skill get.
type Skill struct {
	target  *target.Target
	name    string // or URI
	file    string // a path in the skill; "" for the SKILL.md
	Timeout time.Duration
	Output  string
	save    string // directory; "": nothing is saved
}

// Word parses the name of the skill, or the file.
func (s *Skill) Word(word string) error {
	return command.Arguments(&s.name, &s.file)(word)
}

func (s *Skill) run(ctx context.Context, std *term.Streams) error {
	switch {
	case s.name == "":
		return command.Usagef("which skill?").WithHint("stdwire ls skills lists them")
	case s.save != "" && s.file != "":
		return command.Usagef("--save saves all files").WithHint("leave out --save or " + s.file)
	case s.save != "" && s.Output != "text":
		return command.Usagef("--save prints only the directory").WithHint("leave out -o")
	case s.file != "" && s.Output == "json":
		return command.Usagef("-o json prints the entry of a skill, and no file").WithHint(
			"leave out -o json or " + s.file)
	}
	return s.target.Use(ctx, std, func(c *client.Client) error {
		if s.save != "" {
			return s.saveAll(ctx, std, c)
		}
		return s.Show(ctx, &output.Printer{Std: std, Format: s.Output}, c)
	})
}

// Show prints a file of the skill, or its entry.
func (s *Skill) Show(ctx context.Context, v *output.Printer, c *client.Client) error {
	entry, err := s.find(ctx, c)
	if err != nil {
		return err
	}
	if v.Format == "json" {
		return output.PrintValue(v.Std, entry)
	}
	uri := entry.URI
	if s.file != "" {
		root, _ := skill.Root(entry.URI)
		uri = root + "/" + skill.EscapePath(s.file)
		if _, listed := skill.Listed(entry, uri); !listed {
			var files []string
			for _, f := range entry.Resources.Files {
				files = append(files, printable.Line(strings.TrimPrefix(f.URI, root+"/")))
			}
			return target.NotFound("file", s.file, files, "stdwire skill get -o json")
		}
	}
	content, err := s.read(ctx, c, entry, uri)
	if err != nil {
		return err
	}
	file := &mcp.ResourceContents{URI: uri, MIMEType: skill.MIMEType(uri), Text: string(content)}
	if !utf8.Valid(content) {
		file.Blob, file.Text = content, ""
	}
	v.Resource(file)
	return v.Err
}

// find returns the entry of the skill.
func (s *Skill) find(ctx context.Context, c *client.Client) (*mcp.Skill, error) {
	if strings.Contains(s.name, "://") {
		entry, err := c.Skill(ctx, s.name, client.Timeout(s.Timeout))
		return entry, s.failure(err)
	}
	var names []string
	var found []*mcp.Skill
	for entry, err := range c.Skills(ctx) {
		if err != nil {
			return nil, s.failure(err)
		}
		name := skill.Name(entry.URI)
		if names = append(names, name); name == s.name {
			found = append(found, entry)
		}
	}
	switch {
	case found == nil:
		return nil, target.NotFound("skill", s.name, names, "stdwire ls skills")
	case len(found) > 1: // which one is meant is not known
		var uris []string
		for _, entry := range found {
			uris = append(uris, printable.Line(entry.URI))
		}
		return nil, command.Usagef("the server has %d skills of this name: %s", len(found),
			strings.Join(uris, ", ")).WithHint("write the URI of the one that you mean")
	}
	return found[0], nil
}

func (s *Skill) read(ctx context.Context, c *client.Client, entry *mcp.Skill,
	uri string) ([]byte, error) {
	content, err := c.ReadSkillFile(ctx, entry, uri, client.Timeout(s.Timeout))
	return content, s.failure(err)
}

// failure explains an error of the skill; nil for nil.
func (s *Skill) failure(err error) error {
	if e, ok := errors.AsType[*client.SkillError](err); ok {
		f := &command.Failure{Code: "refused", What: s.name, Why: e.Err.Error(),
			Hint: "it has changed, or is not what the server says: stdwire skill get -o json shows its entry"}
		if e.URI != "" {
			f.What = printable.Line(e.URI)
		}
		return f
	}
	f := target.Explain(err)
	if f == nil {
		return err
	}
	f.What = s.name
	if refused, ok := errors.AsType[*rpc.Error](err); ok && refused.Code == rpc.CodeInvalidParams {
		f.Code = "not_found"
		f.Hint = "stdwire ls skills lists the skills, and stdwire skill get -o json the files"
	}
	return f
}
