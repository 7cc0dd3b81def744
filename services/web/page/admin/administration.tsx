import type { AdminPage } from '../app/address.ts'
import { adminPages } from '../app/address.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { Field, Form } from '../ui/form.tsx'
import { AuditLog } from './audit-log.tsx'
import { Export } from './export.tsx'
import { People } from './people.tsx'
import { Webhooks } from './webhooks.tsx'

/** The pages for admins. */
export function Administration({ workspace, page }: { workspace: Workspace; page: AdminPage }) {
  const names: Record<AdminPage, string> = {
    people: t('People'),
    webhooks: t('Webhooks'),
    settings: t('Settings'),
    audit: t('Audit log'),
    export: t('Export'),
  }
  if (workspace.isReady.value && !workspace.me.value?.isAdmin) {
    return (
      <main class="main">
        <div class="empty">
          <h1>{names[page]}</h1>
          <p>{t('Only admins may see this page.')}</p>
        </div>
      </main>
    )
  }
  return (
    <main class="main">
      <header class="main-head">
        <h1>{names[page]}</h1>
        <nav aria-label={t('Administration')}>
          <ul class="composer-row">
            {adminPages.map((one) => (
              <li key={one}>
                <a class="nav-link" href={`/admin/${one}`} aria-current={one === page ? 'page' : undefined}>
                  {names[one]}
                </a>
              </li>
            ))}
          </ul>
        </nav>
      </header>
      <div class="page">
        {page === 'people' && <People workspace={workspace} />}
        {page === 'webhooks' && <Webhooks workspace={workspace} />}
        {page === 'settings' && <Settings workspace={workspace} />}
        {page === 'audit' && <AuditLog workspace={workspace} />}
        {page === 'export' && <Export workspace={workspace} />}
      </div>
    </main>
  )
}

const Settings = ({ workspace }: { workspace: Workspace }) => (
  <Form
    action={t('Save')}
    onSubmit={({ name = '' }) => workspace.client.request('PUT /server/settings', { body: { name } })}
  >
    <Field label={t('Server name')} name="name" defaultValue={workspace.settings().name} maxLength={80} required />
  </Form>
)
