package keli

// Reclaim gives back what can be given back now, as the reclaimer does, and returns how many
// generations are left that are old.
func (s *Server) Reclaim() int { return s.reclaim() }

// SuperblockBytes is the memory of the superblock of the first device.
func (s *Server) SuperblockBytes() []byte { return s.exporters[0].superblock.Bytes() }

// AreaBytes is the memory of the areas of the current generation, as clients of the first
// device read it.
func (s *Server) AreaBytes() (all [][]byte) {
	for _, b := range (*s.published.Load())[0].image.Areas() {
		all = append(all, b.Bytes())
	}
	return all
}

// DirectoryBytes is the memory of the current directory of the first device.
func (s *Server) DirectoryBytes() []byte {
	return (*s.published.Load())[0].exports[0].directory.Bytes()
}

// InPlace reports whether the item that was followed last is viewed in place.
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
