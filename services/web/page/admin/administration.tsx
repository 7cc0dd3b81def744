import type { AdminPage } from '../app/address.ts'
import { Page } from '../app/page.tsx'
import { adminPageName } from '../app/page-names.ts'
import { createPart } from '../app/part.ts'
import type { Workspace } from '../app/workspace.ts'

const onlyAdmins = createPart(() => import('./only-admins.tsx').then((part) => part.OnlyAdmins))
const pages = createPart(() => import('./contents.ts'))

/** The pages for admins. Each is loaded when it is first opened. */
export function Administration({ workspace, page }: { workspace: Workspace; page: AdminPage }) {
  const name = adminPageName(page)
  if (workspace.isReady.value && !workspace.me.value.isAdmin)
    return <Page workspace={workspace} name={name} content={onlyAdmins()} />
  const loaded = pages()
  const isLoaded = typeof loaded !== 'string'
  return (
    <Page workspace={workspace} name={name} content={isLoaded ? loaded.contents[page]() : loaded}>
      {isLoaded && <loaded.AdminLinks page={page} />}
    </Page>
  )
}
