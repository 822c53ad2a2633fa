package toolsearch

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxWord is the number of bytes of a word that count.
const maxWord = 48

// isWord reports whether a character belongs to a word.
func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// isIdeograph reports whether a character is of a script that is written without spaces, or, as
// Korean, with endings on its words.
func isIdeograph(r rune) bool {
	return r >= 0x1100 && (unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana,
		unicode.Hangul, unicode.Thai))
}

// words yields the runs of letters and digits in text. Of a run of ideographs it yields each pair,
// or the one.
func words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start, ideographs := -1, false
		for i, r := range text {
			word := isWord(r)
			if start >= 0 && (!word || isIdeograph(r) != ideographs) {
				if !yieldRun(text[start:i], ideographs, yield) {
					return
				}
				start = -1
			}
			if start < 0 && word {
				start, ideographs = i, isIdeograph(r)
			}
		}
		if start >= 0 {
			yieldRun(text[start:], ideographs, yield)
		}
	}
}

func yieldRun(run string, ideographs bool, yield func(string) bool) bool {
	if !ideographs {
		return yield(truncate(run, maxWord))
	}
	_, size := utf8.DecodeRuneInString(run)
	if size == len(run) {
		return yield(run)
	}
	for i := 0; i+size < len(run); {
		_, next := utf8.DecodeRuneInString(run[i+size:])
		if !yield(run[i : i+size+next]) {
			return false
		}
		i, size = i+size, next
	}
	return true
}

// parts returns the parts of a word in camel case, such as "get", "S3" and "Object".
func parts(word string) (all []string) {
	start := 0
	var last rune
	for i, r := range word {
		if i > start && unicode.IsUpper(r) {
			_, size := utf8.DecodeRuneInString(word[i:])
			next, _ := utf8.DecodeRuneInString(word[i+size:])
			if unicode.IsLower(last) || unicode.IsLower(next) && word[i+size:] != "s" {
				all, start = append(all, word[start:i]), i
			}
		}
		last = r
	}
	return append(all, word[start:])
}

// letters returns the letters of a word that ends with digits, such as "sha" of "sha256", or "" if
// there are fewer than three, which are a name together with the digits, such as "s3".
func letters(word string) string {
	rest := strings.TrimRightFunc(word, unicode.IsDigit)
	if len(rest) == len(word) || len(rest) < 3 {
		return ""
	}
	return rest
}

// indexTerms returns the terms by which a word is found: the word itself, then its parts, and those
// of them that end with digits without these. A stop word has none.
func indexTerms(word string) (terms []string) {
	all := parts(word)
	if len(all) > 1 {
		all = append([]string{word}, all...)
	}
	for _, part := range all {
		lower := strings.ToLower(part)
		if stopWords()[lower] {
			continue
		}
		terms = append(terms, stem(lower))
		if rest := letters(lower); rest != "" {
			terms = append(terms, stem(rest))
		}
	}
	return terms
}
