package lab

// A Form is what the page's form is made of.
type Form struct {
	Presets  []Preset
	Groups   []Group
	Lanes    []LaneChoice
	Breakers []BreakerForm
	Figures  []string
}

// A Group is some fields under one head.
type Group struct {
	Title  string
	Fields []Field
}

// A LaneChoice is a lane that one may compare, and whether one does.
type LaneChoice struct {
	Choice
	About string
	On    bool
}

// A BreakerForm is the settings of one of the two breakers.
type BreakerForm struct {
	Key, Title, Prefix string
	Open               bool
	Settings           []SettingForm
}

// A SettingForm is one setting and what its default is.
type SettingForm struct{ Name, Usual string }

// NewForm is the form, with the values of [Default].
func NewForm() *Form {
	s := Default()
	form := &Form{Presets: Presets(), Figures: FigureNames()}
	for _, f := range s.fields() {
		if n := len(form.Groups); n == 0 || form.Groups[n-1].Title != f.Group {
			form.Groups = append(form.Groups, Group{Title: f.Group})
		}
		last := &form.Groups[len(form.Groups)-1]
		last.Fields = append(last.Fields, f)
	}
	for _, l := range lanes {
		form.Lanes = append(form.Lanes, LaneChoice{l.Choice, l.About, s.has(l.Key)})
	}
	var settings []SettingForm
	for _, x := range settingsOf(&s.Ours) {
		settings = append(settings, SettingForm{x.name, x.usual})
	}
	form.Breakers = []BreakerForm{
		{"ours", "Settings of this breaker", oursPrefix, true, settings},
		{"second", "Second settings", secondPrefix, false, settings},
	}
	return form
}
