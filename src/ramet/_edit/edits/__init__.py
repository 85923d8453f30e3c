"""One file per edit (closely related ones share a file). `ramet.edits` registers them; `ramet._edit.base.Edit` is their base."""
