package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
)

// slower is the ratio from which a row is marked. Two runs of one program differ by less on an
// idle machine.
const slower = 1.1

// A build is this program, built with the library of one tree.
type build struct {
	dir     string // its working directory, internal/bench of that tree
	program string
	flags   []string
}

// A row is a number of stdwire in the table that print prints.
type row struct {
	what   string
	value  float64
	unit   string
	allocs string // "" if the row has none
}

func (r row) cost() float64 {
	if r.unit == "calls/s" {
		return 1 / r.value
	}
	return r.value
}

// against compares the work tree with a commit. It runs the benchmarks with the library of each in
// turns, and prints the best value of each row and the ratio of the costs, which is more than 1 if
// the work tree is slower. It removes all its files before it returns, also when ctx ends.
func against(ctx context.Context, w io.Writer, revision string, names []string, rounds int,
	o options) (err error) {
	commit, err := output(ctx, "git", "rev-parse", "--short", "--verify", revision+"^{commit}")
	if err != nil {
		return err
	}
	top, err := output(ctx, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "stdwire-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	tree := filepath.Join(dir, "tree")
	if _, err := output(ctx, "git", "worktree", "add", "--detach", tree, commit); err != nil {
		return err
	}
	defer func() {
		_, removeErr := output(context.Background(), "git", "worktree", "remove", "--force", tree)
		err = errors.Join(err, removeErr)
	}()
	now, err := newBuild(ctx, top, filepath.Join(dir, "now"))
	if err != nil {
		return err
	}
	then, err := buildThere(ctx, now, tree, filepath.Join(dir, "then"))
	if err != nil {
		return err
	}
	for _, name := range names {
		var rowsThen, rowsNow []row
		for range rounds {
			if rowsThen, err = then.measure(ctx, dir, name, o, rowsThen); err != nil {
				return fmt.Errorf("%s of %s: %w", name, commit, err)
			}
			if rowsNow, err = now.measure(ctx, dir, name, o, rowsNow); err != nil {
				return fmt.Errorf("%s of the work tree: %w", name, err)
			}
		}
		printRatios(w, name, commit, rowsThen, rowsNow)
	}
	return nil
}

// buildThere builds the benchmarks of the work tree with the library of another tree, or those of
// that tree if it has another API.
func buildThere(ctx context.Context, now build, tree, program string) (build, error) {
	there := filepath.Join(tree, "internal", "bench")
	if err := errors.Join(os.RemoveAll(there), os.CopyFS(there, os.DirFS(now.dir))); err != nil {
		return build{}, err
	}
	b, err := newBuild(ctx, tree, program)
	if err == nil || ctx.Err() != nil {
		return b, err
	}
	fmt.Fprintf(os.Stderr, "bench: the benchmarks of the work tree do not compile with the "+
		"commit, which is measured with its own: %v\n", err)
	for _, args := range [][]string{{"clean", "-qfdx", there}, {"checkout", "--", there}} {
		if _, err := output(ctx, "git", append([]string{"-C", tree}, args...)...); err != nil {
			return build{}, err
		}
	}
	return newBuild(ctx, tree, program)
}

// newBuild builds the benchmarks of a tree.
func newBuild(ctx context.Context, tree, program string) (build, error) {
	b := build{dir: filepath.Join(tree, "internal", "bench"), program: program}
	// -trimpath lets the build cache ignore the path; suites build ./servers again
	for _, args := range [][]string{{"./servers/..."}, {"-o", program, "."}} {
		args = append([]string{"build", "-C", b.dir, "-trimpath", "-ldflags=-w"}, args...)
		if _, err := output(ctx, "go", args...); err != nil {
			return b, err
		}
	}
	help, err := exec.CommandContext(ctx, b.program, "-help").CombinedOutput()
	if bytes.Contains(help, []byte("-own\n")) { // older ones lack the flag
		b.flags = []string{"-own"}
	}
	return b, err
}

var rowPattern = regexp.MustCompile(`(?m)^(\S.*?) {2,}stdwire {2,}(\S+) (\S+)(?:.* (\d+) allocs)?`)

// measure runs a suite once, and returns the better one of each row and the same row in best.
func (b build) measure(ctx context.Context, dir, suite string, o options,
	best []row) ([]row, error) {
	cmd := exec.CommandContext(ctx, b.program, append([]string{
		"-suite", suite, "-time", o.time.String(), "-repeat", "1"}, b.flags...)...)
	cmd.Dir, cmd.Stderr = b.dir, os.Stderr
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	// so that the processes of the suite end too
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out, err := cmd.Output()
	if err != nil {
		return nil, cmp.Or(ctx.Err(), err)
	}
	for _, m := range rowPattern.FindAllStringSubmatch(string(out), -1) {
		value, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", m[0], err)
		}
		r := row{m[1], value, m[3], m[4]}
		i := slices.IndexFunc(best, func(b row) bool { return b.what == r.what })
		if i < 0 {
			best = append(best, r)
		} else if r.cost() < best[i].cost() {
			best[i] = r
		}
	}
	return best, nil
}

func printRatios(w io.Writer, suite, commit string, then, now []row) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "\n%s\t%s\tnow\tratio\tallocs\n", suite, commit)
	for _, n := range now {
		i := slices.IndexFunc(then, func(t row) bool { return t.what == n.what })
		if i < 0 {
			fmt.Fprintf(table, "%s\t-\t%.4g %s\t-\t%s\n", n.what, n.value, n.unit, n.allocs)
			continue
		}
		t, allocs := then[i], n.allocs
		if t.allocs != n.allocs {
			allocs = t.allocs + " → " + n.allocs
		}
		ratio := n.cost() / t.cost()
		if ratio > slower {
			allocs += "\tSLOWER"
		}
		fmt.Fprintf(table, "%s\t%.4g %s\t%.4g %s\t%.2f×\t%s\n", n.what, t.value, t.unit,
			n.value, n.unit, ratio, allocs)
	}
	table.Flush()
}

// output returns the output of a command, without the line end.
func output(ctx context.Context, name string, args ...string) (string, error) {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, &stderr)
	}
	return strings.TrimSpace(string(out)), nil
}
