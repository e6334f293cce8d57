// The script of all pages at /docs. The pages can be read and searched without it.
import { addCopyButtons } from './copy.mjs'
import { filterAsTyped } from './search.mjs'
import { enableForms } from './try-it.mjs'

addCopyButtons()
filterAsTyped()
enableForms()
