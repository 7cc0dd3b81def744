import type { AccountPage } from '../app/address.ts'
import { Page } from '../app/page.tsx'
import { accountPageName } from '../app/page-names.ts'
import { createPart } from '../app/part.ts'
import type { Workspace } from '../app/workspace.ts'

const contents = createPart(() => import('./contents.ts').then((part) => part.contents))

/** The account pages of the signed-in person. Each is loaded when it is first opened. */
export function Account({ workspace, page }: { workspace: Workspace; page: AccountPage }) {
  const loaded = contents()
  const content = typeof loaded === 'string' ? loaded : loaded[page]()
  return <Page workspace={workspace} name={accountPageName(page)} content={content} />
}
