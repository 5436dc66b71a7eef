package keli

// Sweep gives back what can be given back now, as the keeper does, and returns how many
// generations are left that are old.
func (s *Server) Sweep() int { return s.sweep() }

// BoardBytes is the memory of the board of the first device.
func (s *Server) BoardBytes() []byte { return s.places[0].board.Bytes() }

// AreaBytes is the memory of the areas of the current generation, as visitors of the first
// device read it.
func (s *Server) AreaBytes() (all [][]byte) {
	for _, b := range (*s.lineup.Load())[0].image.Areas() {
		all = append(all, b.Bytes())
	}
	return all
}

// DirectoryBytes is the memory of the current directory of the first device.
func (s *Server) DirectoryBytes() []byte { return (*s.lineup.Load())[0].stands[0].directory.Bytes() }

// InPlace reports whether the item that was chased last is where the server has it.
func (s *Session) InPlace() bool { return s.reader.slots[0].view != nil }

// OwnBytes is how much memory slots have for records that are longer than a slot.
func (s *Session) OwnBytes() (n int) {
	for i := range s.reader.slots {
		if own := s.reader.slots[i].own; own != nil {
			n += own.Len()
		}
	}
	return n
}
