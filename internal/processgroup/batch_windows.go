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

// longestLine is how much cmd.exe reads of a command line, in UTF-16.
const longestLine = 8191

// throughInterpreter makes a command whose Path is a batch file one of cmd.exe, as CreateProcess
// would, but with arguments that cmd.exe takes for what they are.
func throughInterpreter(cmd *exec.Cmd) error {
	if !isBatch(cmd.Path) {
		return nil
	}
	line, err := batchLine(cmd.Path, cmd.Args[1:])
	if err != nil {
		return err
	}
	// Neither COMSPEC nor PATH, which others may have set.
	var dir [syscall.MAX_PATH]uint16
	n, _, err := getSystemDirectory.Call(uintptr(unsafe.Pointer(&dir[0])), uintptr(len(dir)))
	if n == 0 {
		return os.NewSyscallError("GetSystemDirectory", err)
	}
	cmd.Path = filepath.Join(syscall.UTF16ToString(dir[:n]), "cmd.exe")
	cmd.SysProcAttr.CmdLine = line
	return nil
}

// isBatch is what CreateProcess goes by, which drops dots and spaces at the end.
func isBatch(path string) bool {
	path = strings.ToLower(strings.TrimRight(path, ". "))
	return strings.HasSuffix(path, ".bat") || strings.HasSuffix(path, ".cmd")
}

// batchLine is the command line by which cmd.exe runs a batch file. With /s, it drops the first and
// the last quote of what follows /c, and takes the rest as it is; /d keeps it from running what the
// registry names first; extensions are on for what literal does; delayed expansion, which would
// replace "!name!" in quotes, is off.
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
	if len(utf16.Encode([]rune(line))) > longestLine {
		return "", fmt.Errorf("the arguments of a batch file are too long for cmd.exe: %w",
			syscall.E2BIG)
	}
	return line, nil
}

// batchArgument quotes an argument for cmd.exe, for the batch file that passes it on (%1, %*), and
// for the program that it is passed on to, which may be written in any language.
//
// All of them agree on what is between two quotes. A quote within is \" for programs. It is an end
// or a start for cmd.exe, so behind an odd number of them, only what never is an operator
// may stand. The other way to write a quote, "", keeps cmd.exe in step, but some programs (those in
// Go too) take it for an end, and what follows a space for the next argument.
func batchArgument(arg string) (string, error) {
	if strings.ContainsAny(arg, "\r\n\x00") {
		return "", invalid("cmd.exe takes no line breaks and no NUL: " + runDirectly)
	}
	// A backslash at the end would, if the batch file has "%~1", be one before a quote.
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
			return "", invalid(fmt.Sprintf("cmd.exe would take %q for an operator, as it is "+
				"behind a double quote: %s", r, runDirectly))
		}
		if backslashes++; r != '\\' {
			backslashes = 0
		}
		b.WriteRune(r)
	}
	if outside {
		return "", invalid("cmd.exe cannot take an odd number of double quotes: " + runDirectly)
	}
	b.WriteString(strings.Repeat(`\`, backslashes))
	b.WriteByte('"')
	return literal(b.String()), nil
}

// invalid says what is wrong with an argument. It is EINVAL too, as for one with a NUL anywhere.
type invalid string

func (e invalid) Error() string { return string(e) }

func (e invalid) Is(target error) bool { return target == syscall.EINVAL }

const (
	runDirectly = "run the program that the batch file starts"

	// operators have a meaning outside quotes, or in a batch file that asks for it ("!").
	operators = "&|<>^()!\t"
)

// needsQuotes reports what cmd.exe, or a batch file that takes arguments apart, could mean
// something by.
func needsQuotes(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	}
	return !strings.ContainsRune(`#$*+-./:?@\_`, r)
}

// literal keeps cmd.exe from putting the values of variables in place of their names. There is
// no way to quote a percent sign. But one that is followed by "%cd:~,%", which is
// no characters of the name of the current directory, starts no name.
func literal(s string) string { return strings.ReplaceAll(s, "%", "%%cd:~,%") }
