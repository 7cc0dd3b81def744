import type { AdminPage } from '../app/address.ts'
import type { PageContent } from '../app/page.tsx'
import { createPart, type Part } from '../app/part.ts'

export { AdminLinks } from './admin-links.tsx'

/** The contents of the pages for admins. */
export const contents: Record<AdminPage, () => Part<PageContent>> = {
  people: createPart(() => import('./people.tsx').then(({ People }) => People)),
  groups: createPart(() => import('./groups.tsx').then(({ Groups }) => Groups)),
  bots: createPart(() => import('./bots.tsx').then(({ Bots }) => Bots)),
  webhooks: createPart(() => import('./webhooks.tsx').then(({ Webhooks }) => Webhooks)),
  subscriptions: createPart(() => import('./subscriptions.tsx').then(({ Subscriptions }) => Subscriptions)),
  commands: createPart(() => import('./bot-commands.tsx').then(({ BotCommands }) => BotCommands)),
  scim: createPart(() => import('./scim-clients.tsx').then(({ ScimClients }) => ScimClients)),
  'sign-in': createPart(() => import('./sign-in-providers.tsx').then(({ SignInProviders }) => SignInProviders)),
  settings: createPart(() => import('./settings.tsx').then(({ Settings }) => Settings)),
  audit: createPart(() => import('./audit-log.tsx').then(({ AuditLog }) => AuditLog)),
  export: createPart(() => import('./export.tsx').then(({ Export }) => Export)),
}
