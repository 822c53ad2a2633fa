package savedcall

import (
	"encoding/xml"
	"strconv"
	"strings"
)

type (
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitFailure `xml:"failure"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit returns outcomes as an XML document that programs for continuous integration read.
func JUnit(name string, outcomes []Outcome) ([]byte, error) {
	suite := junitSuite{Name: name, Tests: len(outcomes)}
	total := 0.0
	for _, o := range outcomes {
		testCase := junitCase{Name: o.Name, Class: name, Time: seconds(o.Ms)}
		if o.Server != "" {
			testCase.Class += "." + o.Server
		}
		if len(o.Failures) > 0 {
			suite.Failures++
			testCase.Failure = &junitFailure{o.Failures[0], strings.Join(o.Failures, "\n")}
		}
		total += o.Ms
		suite.Cases = append(suite.Cases, testCase)
	}
	suite.Time = seconds(total)
	text, err := xml.MarshalIndent(suite, "", "  ")
	return append([]byte(xml.Header), append(text, '\n')...), err
}

func seconds(ms float64) string { return strconv.FormatFloat(ms/1e3, 'f', 3, 64) }
