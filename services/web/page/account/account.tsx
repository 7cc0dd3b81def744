import type { AccountPage } from '../app/address.ts'
import { Page, type PageContent } from '../app/page.tsx'
import { accountPageName } from '../app/page-names.ts'
import { createPart, type Part } from '../app/part.ts'
import type { Workspace } from '../app/workspace.ts'

const contents: Record<AccountPage, () => Part<PageContent>> = {
  preferences: createPart(() => import('./preferences-form.tsx').then(({ PreferencesForm }) => PreferencesForm)),
  profile: createPart(() => import('./profile.tsx').then(({ Profile }) => Profile)),
  security: createPart(() => import('./security.tsx').then(({ Security }) => Security)),
  tokens: createPart(() => import('./api-tokens.tsx').then(({ ApiTokens }) => ApiTokens)),
  sessions: createPart(() => import('./sessions.tsx').then(({ Sessions }) => Sessions)),
}

/** The account pages of the signed-in person. Each is loaded when it is first opened. */
export const Account = ({ workspace, page }: { workspace: Workspace; page: AccountPage }) => (
  <Page workspace={workspace} name={accountPageName(page)} content={contents[page]()} />
)
