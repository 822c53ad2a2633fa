package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// notSupported are the groups of JSON-Schema-Test-Suite in which optional tests fail, with the
// number of these tests and the reason. The number is exact: if one of them passes, TestSuite
// fails, so that the list stays true. The package comment lists the same tests.
var notSupported = []notSupportedGroup{
	{"draft2020-12/optional/cross-draft.json: refs to historic drafts are processed as historic drafts",
		1, otherDraft},
	{"draft2020-12/optional/format/hostname.json: validation of A-label (punycode) host names", 23,
		idna},
	{"draft2020-12/optional/format/idn-hostname.json: validation of internationalized host names",
		42, idna},
	{"draft2020-12/optional/format/idn-hostname.json: validation of separators in internationalized host names",
		12, idna},
	{"draft7/optional/content.json: validation of string-encoded content based on media type", 1,
		annotation},
	{"draft7/optional/content.json: validation of binary string-encoding", 1, annotation},
	{"draft7/optional/content.json: validation of binary-encoded media type documents", 2,
		annotation},
	{"draft7/optional/cross-draft.json: refs to future drafts are processed as future drafts", 2,
		otherDraft},
	{"draft7/optional/format/hostname.json: validation of A-label (punycode) host names", 23, idna},
	{"draft7/optional/format/idn-hostname.json: validation of internationalized host names", 42,
		idna},
	{"draft7/optional/format/idn-hostname.json: validation of separators in internationalized host names",
		12, idna},
}

const (
	otherDraft = "2019-09 is not implemented"
	idna       = "needs the Unicode tables of IDNA, which the standard library does not have"
	annotation = "content keywords are annotations"
)

type notSupportedGroup struct {
	group  string
	fails  int
	reason string
}

type suiteGroup struct {
	Description string
	Schema      json.RawMessage
	Tests       []struct {
		Description string
		Data        json.RawMessage
		Valid       bool
	}
}

func suite(t *testing.T) string {
	root := os.Getenv("STDWIRE_SUITES")
	if root == "" {
		t.Skip("STDWIRE_SUITES is not set: JSON-Schema-Test-Suite is not tested")
	}
	return filepath.Join(root, "JSON-Schema-Test-Suite")
}

// remotesLoader loads documents below http://localhost:1234/ from the suite's folder remotes.
func remotesLoader(root string) func(string) ([]byte, error) {
	return func(uri string) ([]byte, error) {
		path, ok := strings.CutPrefix(uri, "http://localhost:1234/")
		if !ok {
			return nil, errors.New("not in the suite")
		}
		return os.ReadFile(filepath.Join(root, "remotes", filepath.FromSlash(path)))
	}
}

func TestSuite(t *testing.T) {
	root := suite(t)
	for _, draft := range []struct{ folder, uri string }{{"draft2020-12", Draft202012},
		{"draft7", Draft07}} {
		t.Run(draft.folder, func(t *testing.T) {
			folder := filepath.Join(root, "tests", draft.folder)
			failed, ran := map[string]int{}, 0
			err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
				if err != nil || entry.IsDir() {
					return err
				}
				file, err := filepath.Rel(folder, path)
				file = filepath.ToSlash(file)
				data, readErr := os.ReadFile(path)
				var groups []suiteGroup
				if err := errors.Join(err, readErr, json.Unmarshal(data, &groups)); err != nil {
					return err
				}
				for _, group := range groups {
					name := draft.folder + "/" + file + ": " + group.Description
					options := Options{Load: remotesLoader(root), DefaultDialect: draft.uri,
						AssertFormats: strings.HasPrefix(file, "optional/format/")}
					problems := checkSuiteGroup(group, options)
					ran += len(group.Tests)
					failed[name] += len(problems)
					if strings.HasPrefix(file, "optional/") &&
						slices.ContainsFunc(notSupported, func(n notSupportedGroup) bool {
							return n.group == name
						}) {
						continue
					}
					for _, problem := range problems {
						t.Errorf("%s: %v", name, problem)
					}
				}
				return nil
			})
			assert.NilError(t, err)
			assert.Assert(t, ran > 1500, "only %d tests", ran)
			all := 0
			for _, n := range notSupported {
				if strings.HasPrefix(n.group, draft.folder+"/") {
					assert.Check(t, failed[n.group] == n.fails, "%s: %d tests fail, not %d (%s)",
						n.group, failed[n.group], n.fails, n.reason)
					all += n.fails
				}
			}
			t.Logf("%d tests, %d of them not supported", ran, all)
		})
	}
}

func checkSuiteGroup(group suiteGroup, options Options) (problems []error) {
	s, compileErr := options.Compile(group.Schema)
	for _, test := range group.Tests {
		err := compileErr
		if err == nil {
			err = checkSuiteTest(s, test.Data, test.Valid)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", test.Description, err))
		}
	}
	return problems
}

// checkSuiteTest validates data in all ways, which must agree.
func checkSuiteTest(s *Schema, data []byte, valid bool) error {
	err := s.Validate(data)
	if (err == nil) != valid {
		return fmt.Errorf("valid should be %v, is: %w", valid, orNil(err))
	}
	if scanned := s.ValidateScanned(data); fmt.Sprint(scanned) != fmt.Sprint(err) {
		return fmt.Errorf("ValidateScanned says %v, Validate says %v", scanned, err)
	}
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return err
	}
	if decoded := validateValue(s, value); (decoded == nil) != valid {
		return fmt.Errorf("the validation of the decoded value says %w", orNil(decoded))
	}
	if failure := (*Error)(nil); !valid && !errors.As(err, &failure) {
		return fmt.Errorf("the error is not an *Error: %w", err)
	} else if !valid && (len(failure.Causes) == 0 || len(failure.Causes) > maxCauses) {
		return fmt.Errorf("%d causes", len(failure.Causes))
	}
	return nil
}

// validateValue validates the JSON encoding of a Go value.
func validateValue(s *Schema, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return s.ValidateScanned(data)
}

func orNil(err error) error {
	if err == nil {
		return errors.New("nil")
	}
	return err
}
