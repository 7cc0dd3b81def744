import { t } from '../texts/texts.ts'
import type { AccountPage, AdminPage } from './address.ts'

/** The names of pages, which the title shows before the pages are loaded. */
export const adminPageName = (page: AdminPage) =>
  ({
    people: t('People'),
    groups: t('Groups'),
    bots: t('Bots'),
    webhooks: t('Webhooks'),
    subscriptions: t('Subscriptions'),
    commands: t('Commands'),
    scim: t('SCIM clients'),
    'sign-in': t('Single sign-on'),
    settings: t('Settings'),
    audit: t('Audit log'),
    export: t('Export'),
  })[page]

export const accountPageName = (page: AccountPage) =>
  ({
    preferences: t('Preferences'),
    profile: t('Profile'),
    security: t('Security'),
    sessions: t('Sessions'),
    tokens: t('API tokens'),
  })[page]
