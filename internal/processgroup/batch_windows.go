package processgroup

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf16"
	"unsafe"
)

var getSystemDirectory = kernel32.NewProc("GetSystemDirectoryW")

// maxLine is the longest command line that cmd.exe reads, in UTF-16 code units.
const maxLine = 8191

// runByCmdExe turns a command whose Path is a batch file into one of cmd.exe, as CreateProcess
// does, but quotes the arguments so that the batch file gets them unchanged.
func runByCmdExe(cmd *exec.Cmd) error {
	if !isBatch(cmd.Path) {
		return nil
	}
	line, err := batchLine(cmd.Path, cmd.Args[1:])
	if err != nil {
		return err
	}
	// COMSPEC and PATH may have been set by others.
	var dir [syscall.MAX_PATH]uint16
	n, _, err := getSystemDirectory.Call(uintptr(unsafe.Pointer(&dir[0])), uintptr(len(dir)))
	if n == 0 {
		return os.NewSyscallError("GetSystemDirectory", err)
	}
	cmd.Path = filepath.Join(syscall.UTF16ToString(dir[:n]), "cmd.exe")
	cmd.SysProcAttr.CmdLine = line
	return nil
}

// isBatch reports whether CreateProcess takes path for a batch file. It drops dots and spaces at
// the end.
func isBatch(path string) bool {
	path = strings.ToLower(strings.TrimRight(path, ". "))
	return strings.HasSuffix(path, ".bat") || strings.HasSuffix(path, ".cmd")
}

// batchLine returns the command line by which cmd.exe runs a batch file. With /s, cmd.exe drops the
// first and the last quote of what follows /c and keeps the rest; /d skips the AutoRun commands of
// the registry; /e:on turns on the extensions that literal needs; /v:off turns off delayed
// expansion, which replaces "!name!" even in quotes.
func batchLine(file string, args []string) (string, error) {
	if strings.ContainsAny(file, "\"\r\n\x00") {
		return "", fmt.Errorf("the path of the batch file: %w", syscall.EINVAL)
	}
	line := `cmd.exe /e:on /v:off /d /s /c ""` + literal(file) + `"`
	for i, arg := range args {
		quoted, err := batchArgument(arg)
		if err != nil {
			return "", fmt.Errorf("argument %d of a batch file: %w", i+1, err)
		}
		line += " " + quoted
	}
	line += `"`
	if len(utf16.Encode([]rune(line))) > maxLine {
		return "", fmt.Errorf("the arguments of a batch file are too long for cmd.exe: %w",
			syscall.E2BIG)
	}
	return line, nil
}

// batchArgument quotes an argument for cmd.exe, for the batch file that passes it on (%1, %*), and
// for the program that it is passed on to, which may be written in any language.
//
// All of them agree on text between two quotes. A program reads \" as a quote within an argument;
// for cmd.exe every quote starts or ends quoting, so no operator may follow an odd number of them.
// The alternative "" suits cmd.exe, but some programs, those written in Go among them, end the
// argument there.
func batchArgument(arg string) (string, error) {
	if strings.ContainsAny(arg, "\r\n\x00") {
		return "", argumentError("cmd.exe takes no line breaks and no NUL: " + runDirectly)
	}
	// If the batch file has "%~1", a backslash at the end would escape the closing quote.
	if arg != "" && !strings.ContainsFunc(arg, needsQuotes) && !strings.HasSuffix(arg, `\`) {
		return arg, nil
	}
	var b strings.Builder
	b.WriteByte('"')
	backslashes, outside := 0, false
	for _, r := range arg {
		switch {
		case r == '"':
			b.WriteString(strings.Repeat(`\`, backslashes+1))
			outside = !outside
		case outside && strings.ContainsRune(operators, r):
			return "", argumentError(fmt.Sprintf("cmd.exe would take %q for an operator, as it is "+
				"behind a double quote: %s", r, runDirectly))
		}
		if backslashes++; r != '\\' {
			backslashes = 0
		}
		b.WriteRune(r)
	}
	if outside {
		return "", argumentError("cmd.exe cannot take an odd number of double quotes: " +
			runDirectly)
	}
	b.WriteString(strings.Repeat(`\`, backslashes))
	b.WriteByte('"')
	return literal(b.String()), nil
}

// argumentError describes an invalid argument. It is EINVAL too, as the error for a NUL is on
// every system.
type argumentError string

func (e argumentError) Error() string { return string(e) }

func (e argumentError) Is(target error) bool { return target == syscall.EINVAL }

const (
	runDirectly = "run the program that the batch file starts"

	// operators have a meaning outside quotes, or with delayed expansion ("!").
	operators = "&|<>^()!\t"
)

// needsQuotes reports whether r may have a meaning for cmd.exe, or for a batch file that splits its
// arguments.
func needsQuotes(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	}
	return !strings.ContainsRune(`#$*+-./:?@\_`, r)
}

// literal keeps cmd.exe from replacing the names of variables by their values. A percent sign
// cannot be quoted. But when "%cd:~,%" follows, which expands to zero characters of the current
// directory's name, it starts no variable.
func literal(s string) string { return strings.ReplaceAll(s, "%", "%%cd:~,%") }
