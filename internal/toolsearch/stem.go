package toolsearch

import "strings"

// suffixes are removed from English words of which at least three letters and a vowel remain.
var suffixes = []string{"ing", "ed", "er", "or", "ion", "ment", "ive", "able", "ance", "ence",
	"ness", "ize", "ise", "ity", "al", "ly"}

// stem returns a word in lower case without the ends that English inflections and derivations
// differ in. Words of which nothing is removed wrongly are rare enough; that all forms of a word
// become the same matters, not what it is.
func stem(word string) string {
	if len(word) < 4 {
		return word
	}
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return word
		}
	}
	word = singular(word)
	for range 3 {
		before := word
		for _, suffix := range suffixes {
			if rest, found := strings.CutSuffix(word, suffix); found && len(rest) >= 3 &&
				strings.ContainsAny(rest, "aeiouy") {
				word = undouble(rest)
				break
			}
		}
		if word == before {
			break
		}
	}
	if rest, found := strings.CutSuffix(word, "e"); found && len(rest) >= 3 {
		word = rest
	}
	if rest, found := strings.CutSuffix(word, "at"); found && len(rest) >= 4 && rest != "form" {
		word = rest
	}
	if rest, found := strings.CutSuffix(word, "y"); found && len(rest) >= 3 {
		word = rest
	}
	return undouble(word)
}

// singular returns a noun without the ending of a plural.
func singular(word string) string {
	rest, plural := strings.CutSuffix(word, "s")
	switch {
	case !plural || strings.HasSuffix(rest, "s") || strings.HasSuffix(rest, "u") ||
		strings.HasSuffix(rest, "i"):
		return word
	case strings.HasSuffix(rest, "ie") && len(rest) > 4:
		return rest[:len(rest)-2] + "y"
	}
	for _, end := range []string{"xe", "che", "she", "sse", "zze"} {
		if strings.HasSuffix(rest, end) {
			return rest[:len(rest)-1]
		}
	}
	return rest
}

// undouble returns a word without the second of two equal consonants at its end, unless they are
// common there, as in "call" and "pass".
func undouble(word string) string {
	n := len(word)
	if n > 3 && word[n-1] == word[n-2] && !strings.ContainsRune("aeioulsz", rune(word[n-1])) {
		return word[:n-1]
	}
	return word
}
