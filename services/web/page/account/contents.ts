import type { AccountPage } from '../app/address.ts'
import type { PageContent } from '../app/page.tsx'
import { createPart, type Part } from '../app/part.ts'

/** The contents of the account pages of the signed-in person. */
export const contents: Record<AccountPage, () => Part<PageContent>> = {
  preferences: createPart(() => import('./preferences-form.tsx').then(({ PreferencesForm }) => PreferencesForm)),
  profile: createPart(() => import('./profile.tsx').then(({ Profile }) => Profile)),
  security: createPart(() => import('./security.tsx').then(({ Security }) => Security)),
  tokens: createPart(() => import('./api-tokens.tsx').then(({ ApiTokens }) => ApiTokens)),
  sessions: createPart(() => import('./sessions.tsx').then(({ Sessions }) => Sessions)),
}
