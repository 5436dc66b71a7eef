package fence

// orderStores makes what was stored before visible to an adapter before what is stored after
// it: DMB OSHST.
func orderStores()

// orderLoads makes what is loaded and stored after it happen after what was loaded before, as
// an adapter sees it: DMB OSHLD.
func orderLoads()

// orderAll makes an adapter see all accesses before it before those after it: DMB OSH.
func orderAll()
