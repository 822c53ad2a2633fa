package target

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
)

// A writableRoot is a directory in which clients may change files.
type writableRoot struct {
	dir  string
	info os.FileInfo
}

// WritableRoots are the directories in which clients may change files. Commands, trust records and
// recordings may not lie in one, because --write would then be as powerful as --allow-exec.
type WritableRoots []writableRoot

// openWritableRoots returns the directories that exist.
func openWritableRoots(dirs []string) (all WritableRoots) {
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err == nil {
			all = append(all, writableRoot{dir, info})
		}
	}
	return all
}

// maxLinks is the number of symbolic links that a path may lead through.
const maxLinks = 255

// rootOf returns the root through which a path leads or in which it ends, or "". If the path does
// not exist, rootOf returns the root in which the file, or one of its directories, could be
// created. Directories are compared by identity, because names may differ in case. Every symbolic
// link on the way counts, because a client could change its target.
func (all WritableRoots) rootOf(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	for range maxLinks {
		if len(all) == 0 {
			return ""
		}
		for dir := path; ; dir = filepath.Dir(dir) {
			if info, err := os.Stat(dir); err == nil {
				for _, root := range all {
					if os.SameFile(info, root.info) {
						return root.dir
					}
				}
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
		next, linked := resolveFirstLink(path)
		if !linked {
			return ""
		}
		path = next
	}
	return all[0].dir // a cycle of links
}

// resolveFirstLink replaces the first symbolic link of a path by its target. It returns false if
// the path has none.
func resolveFirstLink(path string) (string, bool) {
	volume := filepath.VolumeName(path)
	separator := string(filepath.Separator)
	at, rest := volume+separator,
		strings.Split(strings.Trim(path[len(volume):], separator), separator)
	for i, name := range rest {
		here := filepath.Join(at, name)
		target, err := os.Readlink(here)
		if err == nil {
			if !filepath.IsAbs(target) {
				target = filepath.Join(at, target)
			}
			return filepath.Join(append([]string{target}, rest[i+1:]...)...), true
		}
		at = here
	}
	return "", false
}

// Refuse returns an error if clients could write to path.
func (all WritableRoots) Refuse(what, path string) error {
	root := all.rootOf(path)
	if root == "" {
		return nil
	}
	return command.Usagef("%s %s lies in the root %s, where --write lets clients change it", what,
		path, root).
		WithHint("move it elsewhere, serve a directory that it is not in, or leave out --write; if clients may run any program anyway, say --allow-exec")
}

// RefuseCommand returns an error if clients could write to the program of a command, or to an
// argument that is the file of a program; with data, to any argument that is a file.
func (all WritableRoots) RefuseCommand(what string, c client.Command, data bool) error {
	if len(all) == 0 {
		return nil
	}
	local := func(path string) string {
		if filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(c.Dir, path)
	}
	if filepath.Base(c.Path) != c.Path {
		if err := all.Refuse(what, local(c.Path)); err != nil {
			return err
		}
	} else if err := all.refusePath(what, c); err != nil {
		return err
	}
	for _, arg := range c.Args {
		info, err := os.Stat(local(arg))
		if err == nil && info.Mode().IsRegular() && (data || isProgram(arg, info)) {
			if err := all.Refuse(what, local(arg)); err != nil {
				return err
			}
		}
	}
	return nil
}

// refusePath looks up a program in PATH as its start does, and also refuses the directories before
// it, where clients could create another program of that name.
func (all WritableRoots) refusePath(what string, c client.Command) error {
	path, ok := c.Env["PATH"]
	if !ok {
		path = os.Getenv("PATH")
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) { // the lookup skips it
			continue
		}
		if err := all.Refuse(what+" is looked for in", dir); err != nil {
			return err
		}
		if found, err := exec.LookPath(filepath.Join(dir, c.Path)); err == nil {
			return all.Refuse(what, found)
		}
	}
	return nil
}

// isProgram reports whether a file is probably run by the program that it is an argument of.
func isProgram(name string, info os.FileInfo) bool {
	const endings = ".js .mjs .cjs .ts .mts .cts .py .pyz .rb .pl .php .lua .sh .bash .ps1 .bat .cmd .jar .wasm .exe .dll .so .dylib"
	return info.Mode().Perm()&0o111 != 0 ||
		slices.Contains(strings.Fields(endings), strings.ToLower(filepath.Ext(name)))
}
