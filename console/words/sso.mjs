// Words of signing in with an identity provider.
import { add_words } from '../i18n.mjs';

add_words(
  {
    'sso.email': 'Email address at work',
    'sso.email_hint': 'Its domain decides which sign-in page opens.',
    'sso.next': 'Continue',
    'sso.failed': 'You are not signed in',
    'sso.link':
      'Your address already has an account here. Sign in to it once as usual. Then it is linked ' +
      'with {name}, and an email confirms it.',
    'sso.link_again': 'You are signed in as {login}. Sign in again to link the account.',
    'sso.sign_in_again': 'Sign out and sign in again',
    'sso.linked': 'Your account is linked with {name}.',
    'sso.not_linked': 'Nothing was linked with {name}: the address belongs to another account.',
    'sso.required':
      'The organization requires that you sign in with its provider. Your current session in ' +
      'this browser ends.',
    'sso.error.auth.sso_state_invalid':
      'This sign-in took longer than ten minutes, was used already, or began in another browser. ' +
      'Begin again.',
    'sso.error.auth.sso_refused': 'The provider did not let you in, or you cancelled there.',
    'sso.error.auth.sso_failed':
      'The answer of the provider is not valid. Try again. If it happens again, tell your ' +
      'administrator.',
    'sso.error.auth.sso_unknown_user':
      'The account at the provider belongs to nobody here. Ask your administrator for an ' +
      'invitation, or sign in another way.',
    'sso.error.auth.sso_removed':
      'You were removed from this organization. An administrator can invite you again.',
    'sso.error.auth.sso_not_configured':
      'The operator of this server has to set mail.site_url before providers can be used.',
    'sso.error.auth.user_suspended': 'Your account here is suspended. Ask the operator.',
    'sso.error.auth.registration_disabled':
      'This server takes no new accounts. Ask the operator for one.',
    'sso.error.auth.email_exists': 'Another account has this address. Sign in another way.',
    'sso.error.auth.factor_setup_required':
      'Platform administrators need two-step verification. Sign in another way and turn it on.',
    'sso.error.auth.rate_limited': 'There were too many attempts. Try again later.',
    'sso.error.rate_limit.exceeded': 'There were too many attempts. Try again later.',
    'sso.error.limits.reached': 'The organization has as many members as it may have.',
    'sso.error.orgs.not_found': 'The organization does not exist any more.',
    'sso.error.http.gateway_timeout': 'The provider did not answer in time. Try again.',
    'sso.error.http.unavailable': 'The service is busy. Try again in a minute.',
    'error.of.auth.sso_no_provider': 'No company account for this address',
    'error.of.auth.sso_no_provider.how':
      'No provider signs in this domain. Check the address, or sign in another way.',
  },
  {
    'sso.email': '工作邮箱',
    'sso.email_hint': '根据邮箱域名打开相应的登录页面。',
    'sso.next': '继续',
    'sso.failed': '未能登录',
    'sso.link': '您的邮箱在此已有账号。请以平常的方式登录一次，账号随即与 {name} 关联，系统会发送确认邮件。',
    'sso.link_again': '您当前以 {login} 的身份登录。请重新登录以关联账号。',
    'sso.sign_in_again': '退出并重新登录',
    'sso.linked': '您的账号已与 {name} 关联。',
    'sso.not_linked': '未与 {name} 关联：该邮箱属于另一个账号。',
    'sso.required': '该组织要求使用其身份提供商登录。您在此浏览器中的当前会话将结束。',
    'sso.error.auth.sso_state_invalid': '此次登录超过十分钟、已被使用，或从其他浏览器开始。请重新开始。',
    'sso.error.auth.sso_refused': '身份提供商未允许您登录，或您已取消。',
    'sso.error.auth.sso_failed': '身份提供商的响应无效。请重试；如果再次发生，请告知管理员。',
    'sso.error.auth.sso_unknown_user': '该提供商账号在此没有对应的用户。请向管理员索取邀请，或以其他方式登录。',
    'sso.error.auth.sso_removed': '您已被移出此组织，管理员可以重新邀请您。',
    'sso.error.auth.sso_not_configured': '此服务器的运营者需先设置 mail.site_url，才能使用身份提供商。',
    'sso.error.auth.user_suspended': '您的账号已被停用，请联系运营者。',
    'sso.error.auth.registration_disabled': '此服务器不接受新账号，请联系运营者。',
    'sso.error.auth.email_exists': '此邮箱已属于另一个账号，请以其他方式登录。',
    'sso.error.auth.factor_setup_required': '平台管理员需要两步验证。请以其他方式登录并开启。',
    'sso.error.auth.rate_limited': '尝试次数过多，请稍后再试。',
    'sso.error.rate_limit.exceeded': '尝试次数过多，请稍后再试。',
    'sso.error.limits.reached': '该组织的成员数已达上限。',
    'sso.error.orgs.not_found': '该组织已不存在。',
    'sso.error.http.gateway_timeout': '身份提供商未及时响应，请重试。',
    'sso.error.http.unavailable': '服务繁忙，请稍后重试。',
    'error.of.auth.sso_no_provider': '此邮箱没有公司账号',
    'error.of.auth.sso_no_provider.how': '没有身份提供商负责此域名。请检查邮箱，或以其他方式登录。',
  },
);
