package main

import "strings"

// porter returns the stem of an English word by the algorithm of Porter (1980), as the tokenizer
// porter of SQLite does.
func porter(w string) string {
	if len(w) < 3 || strings.ContainsFunc(w, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return w
	}
	switch {
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "ies"):
		w = w[:len(w)-2]
	case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss"):
		w = w[:len(w)-1]
	}
	if stem, is := strings.CutSuffix(w, "eed"); is {
		if measureOf(stem) > 0 {
			w = stem + "ee"
		}
	} else {
		for _, suffix := range []string{"ed", "ing"} {
			stem, is := strings.CutSuffix(w, suffix)
			if !is || !hasVowel(stem) {
				continue
			}
			switch n := len(stem); {
			case strings.HasSuffix(stem, "at"), strings.HasSuffix(stem, "bl"),
				strings.HasSuffix(stem, "iz"):
				w = stem + "e"
			case n > 1 && stem[n-1] == stem[n-2] && !vowel(stem, n-1) &&
				!strings.ContainsRune("lsz", rune(stem[n-1])):
				w = stem[:n-1]
			case measureOf(stem) == 1 && endsCVC(stem):
				w = stem + "e"
			default:
				w = stem
			}
			break
		}
	}
	if stem, is := strings.CutSuffix(w, "y"); is && hasVowel(stem) {
		w = stem + "i"
	}
	w = replaceSuffix(w, 0, "ational ate tional tion enci ence anci ance izer ize logi log bli ble "+
		"alli al entli ent eli e ousli ous ization ize ation ate ator ate alism al iveness ive "+
		"fulness ful ousness ous aliti al iviti ive biliti ble")
	w = replaceSuffix(w, 0, "icate ic ative - alize al iciti ic ical ic ful - ness -")
	w = replaceSuffix(w, 1, "al - ance - ence - er - ic - able - ible - ant - ement - ment - ent - "+
		"ou - ism - ate - iti - ous - ive - ize -")
	if stem, is := strings.CutSuffix(w, "ion"); is && measureOf(stem) > 1 &&
		strings.ContainsRune("st", rune(stem[len(stem)-1])) {
		w = stem
	}
	if stem, is := strings.CutSuffix(w, "e"); is &&
		(measureOf(stem) > 1 || measureOf(stem) == 1 && !endsCVC(stem)) {
		w = stem
	}
	if strings.HasSuffix(w, "ll") && measureOf(w) > 1 {
		w = w[:len(w)-1]
	}
	return w
}

// replaceSuffix replaces the longest suffix of w in rules, pairs of a suffix and what replaces it,
// if the measure of what is before it is more than least.
func replaceSuffix(w string, least int, rules string) string {
	pairs := strings.Fields(rules)
	best := -1
	for i := 0; i < len(pairs); i += 2 {
		if strings.HasSuffix(w, pairs[i]) && (best < 0 || len(pairs[i]) > len(pairs[best])) {
			best = i
		}
	}
	if best < 0 {
		return w
	}
	stem := strings.TrimSuffix(w, pairs[best])
	if measureOf(stem) <= least {
		return w
	}
	return stem + strings.Trim(pairs[best+1], "-")
}

func vowel(w string, i int) bool {
	return strings.ContainsRune("aeiou", rune(w[i])) || w[i] == 'y' && i > 0 && !vowel(w, i-1)
}

func hasVowel(w string) bool {
	for i := range w {
		if vowel(w, i) {
			return true
		}
	}
	return false
}

// measureOf returns how often a consonant follows a vowel.
func measureOf(w string) (m int) {
	for i := 1; i < len(w); i++ {
		if vowel(w, i-1) && !vowel(w, i) {
			m++
		}
	}
	return m
}

func endsCVC(w string) bool {
	n := len(w)
	return n > 2 && !vowel(w, n-1) && vowel(w, n-2) && !vowel(w, n-3) &&
		!strings.ContainsRune("wxy", rune(w[n-1]))
}
