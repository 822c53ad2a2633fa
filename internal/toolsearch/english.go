package toolsearch

import (
	"strings"
	"sync"
)

// stopWords are the words that say nothing about a tool.
var stopWords = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for _, word := range strings.Fields(`
		a about after again all also am an and any are as at be because been before being both but by
		can could did do does doing don for from had has have having he her here him his how i if in
		into is it its just let like may me might more most must my need no not of off on once only
		or other our out over own please s should so some such t than that the their them then there
		these they this those through to too tool tools under until up us use used user uses using
		very want was we were what when where which while who whom why will with without would you
		your d ll m re ve give given help able allow allows provide provides specific specified
		looking know tell
		hi hello hey assist assistance interested possible available regarding including trying
		really currently specifically always ever also already even every each another both`) {
		all[word] = true
	}
	return all
})

// synonyms are words that users and servers use for one another. A query with one finds tools with
// the others, which then count less.
var synonyms = sync.OnceValue(func() map[string][]string {
	of := map[string][]string{}
	for class := range strings.Lines(`
		create make new generate build
		add insert append
		delete remove erase uninstall
		update edit modify change
		get fetch retrieve obtain read
		show display view
		list enumerate
		find search query lookup locate discover
		send post
		start launch run execute
		stop terminate kill end
		enable activate
		disable deactivate
		move rename relocate
		copy duplicate clone
		convert transform
		compute calculate
		summarize summary
		analyze analysis analytics
		compare diff difference
		check verify validate
		save store persist remember
		folder directory
		file document
		image picture photo
		video movie film
		song music
		email mail
		website webpage site
		url link
		repository repo
		database db sql
		meeting event appointment
		task todo
		ticket issue bug
		stock equity share
		price cost
		buy purchase shop
		job career employment
		trip travel vacation
		hotel accommodation
		flight airline
		restaurant dining
		recipe cook meal
		news headline
		location place address
		car vehicle automobile
		house home property
		lawyer legal law
		doctor medical health
		course class lesson
		chart graph plot diagram
		spreadsheet excel
		slide presentation powerpoint
		paper article research
		chat conversation message
		extension plugin addon
		compress zip archive
		color colour
		crypto cryptocurrency
		game play
	`) {
		fields := strings.Fields(class)
		for i, word := range fields {
			for j, other := range fields {
				if i != j {
					of[stem(word)] = append(of[stem(word)], stem(other))
				}
			}
		}
	}
	return of
})
